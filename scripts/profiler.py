"""What scripts/profile, check_against_ncu and timer_truth share: running attnbench --profile under nsys or ncu,
reading what the tool saw, and giving every kernel back to the cell that launched it.

The map is order: attnbench --profile=N launches, for every row that is `ok` and in the report's order, N times the
row's `launches`, and nothing else. Every kernel's name, grid and block are compared with the launch it is taken for,
so that a capture with one kernel too many or too few is an error and never a shift.

Python's standard library only.
"""
import collections
import contextlib
import csv
import io
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import statistics
import sys

from program import COVERAGE, INPUT, INTERNAL, NOT_COMPARABLE, WRONG, Failure, code_of, execute, last_lines
from report_data import table_blocks

SECTOR_BYTES = 32
CACHE_CONTROL = {"cold": "all", "hot": "none"}  # of ncu: flush before every pass over a kernel, or leave as it is
KERNEL_NAME_MAX = 191  # a report cuts a kernel's name there


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
# What versions of ncu call a unit, and how many base units (ns, byte, Hz) it is.
UNITS = {"": 1, "nsecond": 1, "ns": 1, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6, "second": 1e9, "s": 1e9,
         "byte": 1, "B": 1, "Kbyte": 1e3, "KB": 1e3, "Mbyte": 1e6, "MB": 1e6, "Gbyte": 1e9, "GB": 1e9, "Tbyte": 1e12,
         "TB": 1e12, "hz": 1, "Hz": 1, "cycle/second": 1, "cycle/s": 1, "Khz": 1e3, "KHz": 1e3, "cycle/msecond": 1e3,
         "Mhz": 1e6, "MHz": 1e6, "cycle/usecond": 1e6, "cycle/us": 1e6, "Ghz": 1e9, "GHz": 1e9, "cycle/nsecond": 1e9,
         "cycle/ns": 1e9}
SCALED = re.compile("duration|bytes|per_second")  # metrics whose unit ncu may choose; all others are counts or shares


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
    named = os.environ.get(tool.upper()) or tool
    path = shutil.which(named)
    if path is None:
        product = {"ncu": "Nsight Compute", "nsys": "Nsight Systems"}[tool]
        raise Failure(INTERNAL, f"{named}: not found; install {product} (it comes with the CUDA toolkit), put it on the "
                                f"PATH, or name it in {tool.upper()}")
    return path


def run_tool(command):
    """Runs a command that begins with a tool's name."""
    return execute([tool_path(command[0]), *command[1:]])


def version_of(tool):
    """"ncu 2025.3.1": tool and version as its own --version says."""
    found = re.search(r"[Vv]ersion (\d+(?:\.\d+){1,2})", run_tool([tool, "--version"]).stdout)
    return f"{tool} {found.group(1) if found else 'of unknown version'}"


def known_metrics():
    """Names without suffix that ncu lists for the GPUs of this machine; None when it cannot say."""
    done = run_tool(["ncu", "--query-metrics"])
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
    return ["ncu", "--nvtx", "--nvtx-include", "attnbench@profile/", "--clock-control", "none", "--cache-control",
            CACHE_CONTROL[cache], "--metrics", ",".join(metrics.names()), "--force-overwrite", "--export", stem(export),
            *attnbench_command(args, f"--profile={args.launches}", "--json", report)]


def ncu_import_command(export):
    return ["ncu", "--import", export, "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base",
            "demangled"]


def nsys_command(args, export, report):
    # The range's end must not end the program, which is the default.
    return ["nsys", "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none",
            "--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--force-overwrite=true", "-o", stem(export),
            *attnbench_command(args, f"--profile={args.launches}", "--json", report)]


def nsys_export_command(export, database):
    return ["nsys", "export", "--type=sqlite", "--force-overwrite=true", "-o", database, export]


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
    return Failure(code_of(code), text)


REPORT_PARTS = {"tool": dict, "run": dict, "sweep": dict, "results": list}


def read_report(path):
    """A report of a run that measured something."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        raise Failure(INPUT, f"{path}: not a report: {error}; write it with attnbench --json") from error
    if not isinstance(report, dict) or report.get("schema") != "attnbench.report/1":
        raise Failure(INPUT, f"{path}: schema is not attnbench.report/1; write it with attnbench --json")
    for part, kind in REPORT_PARTS.items():
        if not isinstance(report.get(part), kind):
            raise Failure(INPUT, f'{path}: has no "{part}"; write it with attnbench --json')
    if not isinstance(report.get("device"), dict) or "name" not in report["device"]:
        raise Failure(INPUT, f"{path}: nothing was measured in it; a plan cannot be held against a tool")
    return report


def require_comparable(report, path, captured):
    """A report that was given holds the rows of a capture, measured on such a GPU."""
    ours, theirs = report["device"]["name"], captured["device"]["name"]
    if ours != theirs:
        raise Failure(NOT_COMPARABLE, f"{path}: was measured on {ours}, the tool ran on {theirs}; measure the sweep here")
    if not ok_rows(report) & ok_rows(captured):
        raise Failure(COVERAGE, f"{path}: has none of the rows that are ok in sweep {captured['sweep']['name']} under the "
                                "tool; give a report of that sweep")


def ok_rows(report):
    return {(row["key"], row["variant"]) for row in report["results"] if row["status"] == "ok"}


def measure(args, folder):
    """An ordinary run without any tool: the report with the times."""
    path = folder / "times.json"
    path.unlink(missing_ok=True)
    done = execute(attnbench_command(args, "--json", path))
    if done.returncode not in (0, WRONG, COVERAGE) or not path.exists():
        raise Failure(code_of(done.returncode), f"{args.attnbench} ended with {done.returncode}; its last lines:\n"
                                                f"{last_lines(done)}")
    return path


# ---- reading what they saw --------------------------------------------------------------------------------------

Kernel = collections.namedtuple("Kernel", "name grid block values cell")  # cell: of the NVTX range around it, or None


def number(text, unit, name):
    """A metric's value in base units; None for what is no number ("n/a", "nan", "")."""
    if unit not in UNITS and SCALED.search(name):
        raise Failure(INTERNAL, f'ncu gives {name} in "{unit}", a unit that attnbench does not know')
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value * UNITS.get(unit, 1) if math.isfinite(value) else None


def triple(text):
    """[x, y, z] of "(8, 8, 1)"."""
    return [int(word) for word in re.findall(r"\d+", text)]


def innermost_range(stack):
    """The innermost range of attnbench's in ncu's column of push/pop ranges; None outside of any."""
    names = re.findall(r'"attnbench:([^:"]+):', stack)
    return names[-1] if names else None


def ncu_table(text):
    """(header, units, rows) of `ncu --csv --page raw`; None when there is no table in it."""
    lines = text.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return None
    try:
        header, *rows = csv.reader(io.StringIO("".join(lines[start:])))
    except csv.Error as error:
        raise Failure(INTERNAL, f"ncu's table cannot be read: {error}") from error
    for row in rows:
        if len(row) != len(header):
            raise Failure(INTERNAL, f"ncu's table has a row of {len(row)} cells where its header has {len(header)}")
    for column in ("Kernel Name", "Grid Size", "Block Size"):
        if column not in header:
            raise Failure(INTERNAL, f'ncu\'s table has no column "{column}"; attnbench does not know this version of ncu')
    if not rows:
        raise Failure(INTERNAL, "ncu's table ends after its header, without a line of units")
    return header, rows[0], rows[1:]


def ncu_kernels(text, metrics):
    """The kernels of `ncu --csv --page raw`, in order of launch."""
    table = ncu_table(text)
    if table is None:
        return []
    header, units, rows = table
    at = {name: i for i, name in enumerate(header)}
    wanted = [(name, at[name]) for name in metrics.names() if name in at]
    stack = next((i for i, name in enumerate(header) if "Push/Pop_Range" in name), None)
    kernels = []
    for row in rows:
        raw = {name: number(row[i], units[i], name) for name, i in wanted}
        kernels.append(Kernel(row[at["Kernel Name"]], triple(row[at["Grid Size"]]), triple(row[at["Block Size"]]),
                              metrics.values(raw), innermost_range(row[stack]) if stack is not None else None))
    return kernels


@contextlib.contextmanager
def open_trace(database):
    """An exported nsys trace. What a reader cannot find in it is a Failure."""
    try:
        with contextlib.closing(sqlite3.connect(database)) as db:
            db.text_factory = lambda text: text.decode(errors="replace")
            yield db
    except sqlite3.Error as error:
        raise Failure(INTERNAL, f"nsys' exported trace cannot be read: {error}; attnbench does not know this version of "
                                "nsys") from error


def has_table(db, name):
    """nsys leaves out tables of what it did not see."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def imported_kernels(export, metrics):
    """The kernels of ncu's own report."""
    done = run_tool(ncu_import_command(export))
    if done.returncode != 0:
        raise explain("ncu --import", done)
    return ncu_kernels(done.stdout, metrics)


NSYS_KERNELS = ("SELECT s.value, k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.start, k.end "
                "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName ORDER BY k.start")


def nsys_kernels(database):
    """The kernels of an exported nsys trace, in order of start."""
    with open_trace(database) as db:
        rows = db.execute(NSYS_KERNELS).fetchall() if has_table(db, "CUPTI_ACTIVITY_KIND_KERNEL") else []
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


def range_name(text):
    """As attnbench names its NVTX ranges (cli/measure/measure.h)."""
    return re.sub("[:,]", ".", text)


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
        elsewhere = kernel.cell not in (None, "profile", range_name(f"{row['key']}.{row['variant']}"))
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
    done = run_tool(ncu_command(args, metrics, export, report, cache))
    while done.returncode != 0 and refused_metrics(done) - metrics.refused:  # ncu names one a time
        metrics = Metrics(keys, stalls, metrics.known, metrics.refused | refused_metrics(done))
        report.unlink(missing_ok=True)
        done = run_tool(ncu_command(args, metrics, export, report, cache))
    data, code = checked_report("ncu", done, report)
    if not export.exists():
        raise Failure(COVERAGE, f"ncu profiled no kernel; its last lines:\n{last_lines(done)}")
    if metrics.missing():
        print(f"note: this ncu counts nothing on this GPU for {', '.join(metrics.missing())}; left out", file=sys.stderr)
    rows = give_back(data, imported_kernels(export, metrics), "ncu")
    return Capture(version_of("ncu"), cache, data, rows, code)


def capture_nsys(args, folder, export=None):
    export, report, database = export or folder / "profile.nsys-rep", folder / "profile.json", folder / "profile.sqlite"
    data, code = checked_report("nsys", run_tool(nsys_command(args, export, report)), report)
    done = run_tool(nsys_export_command(export, database))
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


def check_options(parser, args):
    if not 1 <= args.launches <= 1000:
        parser.error(f"--launches: {args.launches} is not from 1 to 1000")


def shell(command):
    return shlex.join(str(word) for word in command)


def markdown_section(document):
    """A document of tables (schema attnbench.table/1) as Markdown."""
    return "\n\n".join([f"## {document['title']}", *table_blocks(document, document["title"])]) + "\n"
