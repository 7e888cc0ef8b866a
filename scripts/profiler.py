"""What scripts/profile, check_against_ncu and timer_truth share: running attnbench --profile under nsys or ncu,
reading what the tool saw, and giving every kernel back to the cell that launched it.

The map is order: attnbench --profile=N launches, for every row that is `ok` and in the report's order, N times the
row's `launches`, and nothing else. Every kernel's name, grid and block are compared with the launch it is taken for,
so that a capture with one kernel too many or too few is an error and never a shift.

Errors are raised as Failure, with the exit code that the program ends with. Python's standard library only.
"""
import collections
import csv
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import statistics
import subprocess
import sys

USAGE, WRONG, COVERAGE, INPUT, OUTPUT, INTERNAL = 2, 3, 4, 7, 8, 9
ATTNBENCH_CODES = (2, 3, 4, 7, 8, 9, 77, 130, 143)
SECTOR_BYTES = 32
CACHE_CONTROL = {"cold": "all", "hot": "none"}  # of ncu: flush before every pass over a kernel, or leave as it is
KERNEL_NAME_MAX = 191  # a report cuts a kernel's name there


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


# ---- metrics ----------------------------------------------------------------------------------------------------

def same(value):
    return value


def percent(value):
    return value / 100


def share(part, *others):
    total = part + sum(others)
    return part / total if total else None


def total(*values):
    return sum(values)


# key -> ways to get it, the best first: (ncu metrics, how the value is made of theirs in base units: ns, byte, Hz).
# Names differ between GPUs and ncu versions: the first way whose metrics this ncu knows for this GPU is taken. Every one
# of the first ways was found in ncu's own lists for sm_80, sm_89 and sm_90, unless its comment says otherwise.
QUANTITIES = {
    "gpu_time_us": [(["gpu__time_duration.sum"], lambda ns: ns * 1e-3)],
    "sm_cycles": [(["sm__cycles_elapsed.max"], same)],
    "dram_read_bytes": [(["dram__bytes_read.sum"], same)],
    "dram_write_bytes": [(["dram__bytes_write.sum"], same)],
    # What the SMs ask for. lts__t_bytes would also count the traffic between the two halves of L2.
    "l2_bytes": [(["lts__t_sectors_srcunit_tex.sum"], lambda sectors: sectors * SECTOR_BYTES)],
    "l2_hit_ratio": [(["lts__t_sectors_srcunit_tex_lookup_hit.sum", "lts__t_sectors_srcunit_tex_lookup_miss.sum"], share),
                     (["lts__t_sector_hit_rate.pct"], percent)],
    # Matrix products alone where that can be had: sm_90 runs some HFMA2 on the tensor pipe too.
    "tensor_pipe_ratio": [(["sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active"
                            ".avg.pct_of_peak_sustained_elapsed"], percent),
                          (["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"], percent),
                          (["sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"], percent),
                          (["sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"], percent)],
    "issue_ratio": [(["smsp__issue_active.avg.pct_of_peak_sustained_active"], percent),
                    (["sm__inst_issued.avg.pct_of_peak_sustained_active"], percent)],
    "achieved_occupancy_ratio": [(["sm__warps_active.avg.pct_of_peak_sustained_active"], percent)],
    "shared_wavefronts": [(["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"], same)],
    "shared_bank_conflicts": [(["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"], same)],
    # Counted by instrumented code, from the addresses alone.
    "shared_excess_wavefronts": [(["memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"],
                                  lambda real, ideal: max(0.0, real - ideal))],
    "global_load_requests": [(["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"], same)],
    "global_load_sectors": [(["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], same)],
    "global_sectors": [(["memory_l2_theoretical_sectors_global"], same)],
    "global_excess_sectors": [(["memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"],
                               lambda real, ideal: max(0.0, real - ideal))],
    "local_bytes": [(["l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum"],
                     total)],
}
# For check_against_ncu and timer_truth; not part of a counter file.
EXTRAS = {
    "registers": [(["launch__registers_per_thread"], same)],
    "waves": [(["launch__waves_per_multiprocessor"], same)],
    "occupancy_ratio": [(["sm__maximum_warps_per_active_cycle_pct"], percent)],
    "l1_hit_ratio": [(["l1tex__t_sector_hit_rate.pct"], percent)],
    # Over the SMs' side of the crossbar, where requests of neighbouring SMs are not yet joined.
    "crossbar_bytes": [(["l1tex__m_xbar2l1tex_read_sectors.sum", "l1tex__m_l1tex2xbar_write_sectors.sum"],
                        lambda read, written: (read + written) * SECTOR_BYTES)],
    "global_load_store_sectors": [(["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"], total)],
    # cp.async past L1: what came for it less what was asked for.
    "copy_excess_bytes": [(["smsp__sass_l1tex_m_xbar2l1tex_read_sectors_mem_global_op_ldgsts_cache_bypass.sum",
                            "smsp__sass_data_bytes_mem_global_op_ldgsts_cache_bypass.sum"],
                           lambda sectors, asked: max(0.0, sectors * SECTOR_BYTES - asked))],
    "sm_clock_mhz": [(["gpc__cycles_elapsed.avg.per_second"], lambda hz: hz * 1e-6)],
    "tensor_flops": [([f"sm__ops_path_tensor_op_{op}.sum" for op in  # sm_90
                       ("hmma_src_fp16_dst_fp32", "hmma_src_bf16_dst_fp32", "hgmma_src_fp16", "hgmma_src_bf16_dst_fp32")],
                      total),
                     (["sm__ops_path_tensor_src_fp16_dst_fp32.sum", "sm__ops_path_tensor_src_bf16_dst_fp32.sum"], total)],
}
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active"
STALLS = ("barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard",
          "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
          "short_scoreboard", "sleeping", "tex_throttle", "wait")
TEXT_UNITS = {"nsecond": 1, "ns": 1, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6, "second": 1e9, "s": 1e9,
              "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "KB": 1e3, "MB": 1e6, "GB": 1e9,
              "cycle/nsecond": 1e9, "cycle/usecond": 1e6, "Ghz": 1e9, "Mhz": 1e6, "GHz": 1e9, "MHz": 1e6}


def stall_metrics(known):
    """{reason: metric} of the reasons that this ncu knows; of all in the list when what it knows is not known."""
    if known is None:
        return {reason: STALL.format(reason) + ".ratio" for reason in STALLS}
    pattern = re.compile(STALL.format("([a-z_]+)").replace(".", r"\.") + "$")
    found = (pattern.match(name) for name in sorted(known))
    # A part of a reason, such as mio_throttle_pipe_mio, would be counted twice.
    whole = (match for match in found if match and not match.group(1).endswith("_pipe_mio"))
    return {match.group(1): match.group(0) + ".ratio" for match in whole}


class Metrics:
    """Which metrics to ask for, and what a kernel's values mean."""

    def __init__(self, keys, stalls, known, refused=()):
        """known: the names that --query-metrics lists, without suffix; None when it could not be asked."""
        self.known, self.refused = known, set(refused)
        table = {**QUANTITIES, **EXTRAS}
        self.way = {key: next((way for way in table[key] if all(map(self.has, way[0]))), None) for key in keys}
        self.stalls = {reason: name for reason, name in stall_metrics(known).items() if stalls and self.has(name)}

    def has(self, name):
        # The list leaves out what ncu does not count but derives: launch__*, memory_*, sm__maximum_*.
        base = name.split(".")[0]
        listed = "." not in name or self.known is None or base in self.known
        return listed and not {name, base} & self.refused

    def missing(self):
        return [key for key, way in self.way.items() if way is None]

    def names(self):
        wanted = [name for way in self.way.values() if way for name in way[0]] + list(self.stalls.values())
        return list(dict.fromkeys(wanted))

    def values(self, raw):
        """{key: value or None} of one kernel from {metric: value}."""
        out = {}
        for key, way in self.way.items():
            inputs = [raw.get(name) for name in way[0]] if way else [None]
            out[key] = None if None in inputs else way[1](*inputs)
        out["stalls"] = {reason: raw[name] for reason, name in self.stalls.items() if raw.get(name) is not None}
        return out


def top_stall(stalls):
    """The reason that holds most warps, and its share of all warps that were looked at; issuing is no stall."""
    waiting = {reason: value for reason, value in stalls.items() if reason != "selected"}
    everything = sum(stalls.values())
    if not waiting or not everything:
        return None
    name = max(sorted(waiting), key=waiting.get)
    return {"name": name, "ratio": waiting[name] / everything}


# ---- running tools ----------------------------------------------------------------------------------------------

def tool_path(tool):
    """The tool's program: of the environment (NCU, NSYS) or the PATH."""
    named = os.environ.get(tool.upper(), tool)
    path = shutil.which(named)
    if path is None:
        product = {"ncu": "Nsight Compute", "nsys": "Nsight Systems"}[tool]
        raise Failure(INTERNAL, f"{named}: not found; install {product} (it comes with the CUDA toolkit), put it on the "
                                f"PATH, or name it in {tool.upper()}")
    return path


def execute(command):
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment,
                              stdin=subprocess.DEVNULL, errors="replace")
    except OSError as error:
        raise Failure(INTERNAL, f"{command[0]}: {error.strerror}") from error


def last_lines(done, count=12):
    return "\n".join((done.stdout + done.stderr).strip().splitlines()[-count:])


def version_of(tool):
    """"ncu 2025.3.1": tool and version as its own --version says."""
    found = re.search(r"[Vv]ersion (\d+(?:\.\d+){1,2})", execute([tool_path(tool), "--version"]).stdout)
    return f"{tool} {found.group(1) if found else 'of unknown version'}"


def known_metrics():
    """Names without suffix that ncu lists for the GPUs of this machine; None when it cannot say."""
    done = execute([tool_path("ncu"), "--query-metrics"])
    names = set(re.findall(r"^([A-Za-z_][\w.]*__\w+) ", done.stdout, re.M))
    return names or None


def attnbench_command(args, *more):
    command = [args.attnbench, "--sweep", args.sweep, "--device", args.device]
    for option, values in (("--variants", [args.variants] if args.variants else []), ("--filter", args.filter or []),
                           ("--load", args.load or [])):
        command += [word for value in values for word in (option, value)]
    return command + [*more]


def stem(export):
    """A tool's report as the tool is told it: it adds the extension."""
    return re.sub(r"\.(ncu|nsys)-rep$", "", str(export))


def ncu_command(args, metrics, export, report, cache):
    return [tool_path("ncu") if not args.print_command else "ncu", "--nvtx", "--nvtx-include", "attnbench@profile/",
            "--clock-control", "none", "--cache-control", CACHE_CONTROL[cache], "--metrics", ",".join(metrics.names()),
            "--force-overwrite", "--export", stem(export),
            *attnbench_command(args, f"--profile={args.launches}", "--json", report)]


def ncu_import_command(args, export):
    return [tool_path("ncu") if not args.print_command else "ncu", "--import", export, "--csv", "--page", "raw",
            "--print-units", "base", "--print-kernel-base", "demangled"]


def nsys_command(args, export, report):
    # The range's end must not end the program, which is the default.
    return [tool_path("nsys") if not args.print_command else "nsys", "profile", "--trace=cuda,nvtx", "--sample=none",
            "--cpuctxsw=none", "--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--force-overwrite=true",
            "-o", stem(export), *attnbench_command(args, f"--profile={args.launches}", "--json", report)]


def nsys_export_command(args, export, database):
    return [tool_path("nsys") if not args.print_command else "nsys", "export", "--type=sqlite", "--force-overwrite=true",
            "-o", database, export]


PROGRAM_ENDED = r"application returned an error code \((\d+)\)"


def ended_with(done):
    """The exit code of the program behind a tool, else the tool's own."""
    found = re.search(PROGRAM_ENDED, done.stdout + done.stderr)
    return int(found.group(1)) if found else done.returncode


def explain(tool, done):
    """Why a run under the tool failed, as a Failure."""
    said = done.stdout + done.stderr
    if "ERR_NVGPUCTRPERM" in said:
        return Failure(INTERNAL, f"{tool}: this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM); run "
                                 "as root, or have the administrator load the driver with "
                                 "NVreg_RestrictProfilingToAdminUsers=0")
    code = ended_with(done)
    text = f"{tool} ended with {done.returncode}; its last lines:\n{last_lines(done)}"
    return Failure(code if code in ATTNBENCH_CODES else INTERNAL, text)


def read_report(path):
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        raise Failure(INPUT, f"{path}: not a report: {error}; write it with attnbench --json") from error
    if not isinstance(report, dict) or report.get("schema") != "attnbench.report/1":
        raise Failure(INPUT, f"{path}: schema is not attnbench.report/1; write it with attnbench --json")
    return report


def measure(args, folder):
    """An ordinary run without any tool: the report with the times."""
    path = folder / "times.json"
    done = execute(attnbench_command(args, "--json", path))
    if not path.exists():
        raise Failure(done.returncode or INTERNAL, f"{args.attnbench} ended with {done.returncode}; its last lines:\n"
                                                   f"{last_lines(done)}")
    return path


# ---- reading what they saw --------------------------------------------------------------------------------------

Kernel = collections.namedtuple("Kernel", "name grid block values cell")  # cell: of the NVTX range around it, or None


def number(text, unit=""):
    """A value of ncu's table in base units; None for what is no number ("n/a", "")."""
    try:
        return float(text.replace(",", "")) * TEXT_UNITS.get(unit, 1)
    except ValueError:
        return None


def triple(text):
    """[x, y, z] of "(8, 8, 1)"."""
    return [int(word) for word in re.findall(r"\d+", text)]


def innermost_range(stack):
    """The innermost range of attnbench's in ncu's column of push/pop ranges; None outside of any."""
    names = re.findall(r'"attnbench:([^:"]+):', stack)
    return names[-1] if names else None


def ncu_kernels(text, metrics):
    """The kernels of `ncu --csv --page raw`, in order of launch."""
    lines = text.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    header, units, *rows = csv.reader(io.StringIO("".join(lines[start:])))
    at = {name: i for i, name in enumerate(header)}
    stack = next((i for i, name in enumerate(header) if "Push/Pop_Range" in name), None)
    for column in ("Kernel Name", "Grid Size", "Block Size"):
        if column not in at:
            raise Failure(INTERNAL, f'ncu\'s table has no column "{column}"; attnbench does not know this version of ncu')
    kernels = []
    for row in rows:
        if len(row) != len(header):
            raise Failure(INTERNAL, f"ncu's table has a row of {len(row)} cells where its header has {len(header)}")
        raw = {name: number(row[i], units[i]) for name, i in at.items() if name in set(metrics.names())}
        kernels.append(Kernel(row[at["Kernel Name"]], triple(row[at["Grid Size"]]), triple(row[at["Block Size"]]),
                              metrics.values(raw), innermost_range(row[stack]) if stack is not None else None))
    return kernels


NSYS_KERNELS = ("SELECT s.value, k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.start, k.end "
                "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName ORDER BY k.start")


def nsys_kernels(database):
    """The kernels of an exported nsys trace, in order of start."""
    with sqlite3.connect(database) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        rows = db.execute(NSYS_KERNELS).fetchall() if "CUPTI_ACTIVITY_KIND_KERNEL" in tables else []
    return [Kernel(row[0], list(row[1:4]), list(row[4:7]), {"gpu_time_us": (row[8] - row[7]) * 1e-3, "stalls": {}}, None)
            for row in rows]


def base_name(kernel):
    """A kernel's identifier without return type, namespaces, template and call arguments, which tools write
    differently; "" of a vendor's kernel without a name."""
    text = re.sub(r"(\(anonymous namespace\)|<?unnamed>)::", "", kernel or "").removeprefix("void ")
    return re.split(r"[<(]", text)[0].split("::")[-1]


def same_name(reported, seen):
    ours, theirs = base_name(reported), base_name(seen)
    return ours in ("", theirs) or (len(reported) >= KERNEL_NAME_MAX and theirs.startswith(ours))


def describe(name, grid, block):
    return f"{base_name(name)} grid ({','.join(map(str, grid))}) block ({','.join(map(str, block))})"


def range_name(row):
    """The NVTX range around a cell's launches of a --profile run."""
    return re.sub("[:,]", ".", f"{row['key']}.{row['variant']}")


def expected_launches(report):
    """(row, pass number, launch) of every kernel that a --profile run launched, in order."""
    launches = report["run"].get("profile_launches")
    if not launches:
        raise Failure(INPUT, "the report is not of a --profile run: run.profile_launches is not there")
    return [(row, i, launch) for row in report["results"] if row["status"] == "ok" for _ in range(launches)
            for i, launch in enumerate(row["launches"])]


def give_back(report, kernels, tool):
    """[(row, [kernels of pass 0 in order of launch, of pass 1, ...])] of a --profile run."""
    expected = expected_launches(report)
    passes = {}
    for at, ((row, i, launch), kernel) in enumerate(zip(expected, kernels)):
        ours = launch["kernel"], launch["grid"], launch["block"]
        elsewhere = kernel.cell not in (None, "profile", range_name(row))
        if elsewhere or not same_name(ours[0], kernel.name) or ours[1:] != (kernel.grid, kernel.block):
            raise Failure(COVERAGE, f"kernel {at + 1} of {tool} is {describe(*kernel[:3])} where {row['key']} "
                                    f"{row['variant']} launched {describe(*ours)}: nothing was attributed; the capture "
                                    "holds a kernel that the report does not know, or lacks one")
        passes.setdefault((row["key"], row["variant"]), {}).setdefault(i, []).append(kernel)
    if len(expected) != len(kernels):
        raise Failure(COVERAGE, f"{tool} saw {len(kernels)} kernels where the report has {len(expected)} (rows x passes "
                                "x launches): nothing was attributed")
    rows = [row for row in report["results"] if row["status"] == "ok"]
    return [(row, [passes[row["key"], row["variant"]][i] for i in range(len(row["launches"]))]) for row in rows]


def over_launches(kernels, how=statistics.mean):
    """One kernel's values over its launches; None where any launch has none."""
    def combine(values):
        return None if any(value is None for value in values) else how(values)
    first = kernels[0].values
    out = {key: combine([k.values[key] for k in kernels]) for key in first if key != "stalls"}
    out["stalls"] = {reason: combine([k.values["stalls"].get(reason) for k in kernels]) for reason in first["stalls"]}
    return out


# ---- a whole capture --------------------------------------------------------------------------------------------

class Capture:
    """What a tool saw of a sweep: source, cache, report (of the --profile run), rows of (row, kernels by pass), and the
    exit code that the rows which are not there ask for."""

    def __init__(self, source, cache, report, rows, exit_code):
        self.source, self.cache, self.report, self.rows, self.exit_code = source, cache, report, rows, exit_code


def checked_report(tool, done, path):
    """(report, exit code) of a run under a tool; a cell that is wrong or failed costs only itself."""
    code = ended_with(done)
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr or code not in (0, WRONG, COVERAGE) or not path.exists():
        raise explain(tool, done)
    if code:
        print(f"note: attnbench ended with {code}: cells that are not ok have no counters", file=sys.stderr)
    return read_report(path), code


def refused_metrics(done):
    return set(re.findall(r"[Ff]ailed to find metric[s]?:? *(?:regex:)?[\"']?([\w.]*\w)", done.stdout + done.stderr))


def capture_ncu(args, folder, keys, stalls, cache, export=None):
    export, report = export or folder / "profile.ncu-rep", folder / "profile.json"
    metrics = Metrics(keys, stalls, known_metrics())
    done = execute(ncu_command(args, metrics, export, report, cache))
    while done.returncode != 0 and refused_metrics(done) - metrics.refused:  # ncu names one a time
        metrics = Metrics(keys, stalls, metrics.known, metrics.refused | refused_metrics(done))
        report.unlink(missing_ok=True)
        done = execute(ncu_command(args, metrics, export, report, cache))
    data, code = checked_report("ncu", done, report)
    if not export.exists():
        raise Failure(COVERAGE, f"ncu profiled no kernel; its last lines:\n{last_lines(done)}")
    if metrics.missing():
        print(f"note: this ncu counts nothing on this GPU for {', '.join(metrics.missing())}; left out", file=sys.stderr)
    table = execute(ncu_import_command(args, export))
    if table.returncode != 0:
        raise explain("ncu --import", table)
    rows = give_back(data, ncu_kernels(table.stdout, metrics), "ncu")
    return Capture(version_of("ncu"), cache, data, rows, code)


def capture_nsys(args, folder, export=None):
    export, report, database = export or folder / "profile.nsys-rep", folder / "profile.json", folder / "profile.sqlite"
    data, code = checked_report("nsys", execute(nsys_command(args, export, report)), report)
    done = execute(nsys_export_command(args, export, database))
    if done.returncode != 0 or not database.exists():
        raise explain("nsys export", done)
    return Capture(version_of("nsys"), "hot", data, give_back(data, nsys_kernels(database), "nsys"), code)


def pass_counters(launch, kernels):
    values = over_launches(kernels)
    out = {"kernel": launch["kernel"], "grid": launch["grid"], "block": launch["block"]}
    out.update({key: values[key] for key in QUANTITIES if values.get(key) is not None})
    stall = top_stall({reason: value for reason, value in values["stalls"].items() if value is not None})
    return {**out, "top_stall": stall} if stall else out


def counters_document(capture):
    """The counter file that `attnbench report --counters` reads (results/README.md)."""
    rows = [{"key": row["key"], "variant": row["variant"],
             "passes": [pass_counters(launch, kernels) for launch, kernels in zip(row["launches"], passes)]}
            for row, passes in capture.rows if row["launches"]]
    return {"schema": "attnbench.counters/1", "source": capture.source, "cache": capture.cache,
            "launches": capture.report["run"]["profile_launches"], "rows": rows}


# ---- programs ---------------------------------------------------------------------------------------------------

def add_options(parser):
    """The options that say what attnbench runs."""
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--sweep", required=True, metavar="FILE")
    parser.add_argument("--variants", metavar="A,B", help="as attnbench's")
    parser.add_argument("--filter", metavar="KEY=VALUE", action="append", help="as attnbench's; repeat to narrow")
    parser.add_argument("--load", metavar="FILE", action="append", help="as attnbench's")
    parser.add_argument("--device", default="cuda", metavar="NAME", help="as attnbench's (default: cuda)")
    parser.add_argument("--launches", type=int, default=1, metavar="N",
                        help="launches of every cell's plan, 1 to 1000; counters are their mean (default: 1)")
    parser.add_argument("--attnbench", default=os.environ.get("ATTNBENCH", str(root / "attnbench")), metavar="PATH")
    parser.set_defaults(print_command=False)


def check_options(parser, args):
    if not 1 <= args.launches <= 1000:
        parser.error(f"--launches: {args.launches} is not from 1 to 1000")


def check_output(path):
    """Fails when a file cannot be written there, before anything takes time."""
    folder = pathlib.Path(path).resolve().parent
    if str(path) != "-" and not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise Failure(OUTPUT, f"{path}: cannot be written: its folder is missing or not writable; make it first")


def write_whole(path, text):
    """Writes a file that is either whole or not there; "-" is stdout."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    path = pathlib.Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, path)
    except OSError as error:
        raise Failure(OUTPUT, f"{path}: cannot be written: {error.strerror}") from error


def json_text(document):
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def shell(command):
    return shlex.join(str(word) for word in command)


def run_program(name, main):
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(failure.code)
    except KeyboardInterrupt:
        sys.exit(130)


# ---- text -------------------------------------------------------------------------------------------------------

def cell_text(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|")


def case_name(shape):
    """A case as tables for people write it: "1,8,512,64 f16 full"."""
    heads = shape["Hq"] if shape["Hq"] == shape["Hkv"] else f"{shape['Hq']}/{shape['Hkv']}"
    length = shape["Sq"] if shape["Sq"] == shape["Skv"] else f"{shape['Sq']}x{shape['Skv']}"
    return f"{shape['B']},{heads},{length},{shape['D']} {shape['dtype']} {'causal' if shape['causal'] else 'full'}"


def markdown_table(columns, rows):
    """A Markdown table; columns whose cells are all numbers or unknown stand right."""
    def numeric(i):
        return all(row[i] is None or type(row[i]) in (int, float) for row in rows)
    rule = "|".join("--:" if numeric(i) else "---" for i in range(len(columns)))
    lines = ["| " + " | ".join(columns) + " |", f"|{rule}|"]
    return "\n".join(lines + ["| " + " | ".join(map(cell_text, row)) + " |" for row in rows])


def markdown_section(document):
    """A document of tables (schema attnbench.table/1) as Markdown."""
    parts = [f"## {document['title']}", document.get("about", "")]
    for table in [document] + document.get("tables", []):
        parts += [f"### {table['title']}"] if table is not document and table.get("title") else []
        parts += [markdown_table(table["columns"], table["rows"])] if table.get("columns") else []
        parts += ["\n".join(f"- {note}" for note in table.get("notes", []))]
    return "\n\n".join(part for part in parts if part) + "\n"
