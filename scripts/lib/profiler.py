"""Running attnbench --profile under nsys or ncu, reading what the tool saw, and giving every kernel back to the cell
that launched it.

The map is order: attnbench --profile=N launches, for every row that is `ok` and in the report's order, N times the
row's `launches`, and nothing else. Every kernel's name, grid and block are compared with the launch it is taken for,
so that a capture with one kernel too many or too few is an error and never a shift.
"""
import collections
import contextlib
import csv
import io
import os
import re
import shlex
import shutil
import sqlite3
import statistics
import sys

from . import program, reports
from .metrics import QUANTITIES, Metrics, number, top_stall
from .program import COVERAGE, INPUT, INTERNAL, WRONG, Failure, code_of, execute, last_lines

CACHE_CONTROL = {"cold": "all", "hot": "none"}  # of ncu: flush before every pass over a kernel, or leave as it is
KERNEL_NAME_MAX = 191  # a report cuts a kernel's name there


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
    return [*command, *more]


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
        raise Failure(INPUT, "the report is not of a --profile run: it has no run.profile_launches")
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
    exit code of the rows that are missing."""

    def __init__(self, source, cache, report, rows, exit_code):
        self.source, self.cache, self.report, self.rows, self.exit_code = source, cache, report, rows, exit_code


def checked_report(tool, done, path):
    """(report, exit code) of a run under a tool; a cell that is wrong or failed costs only itself."""
    code = ended_with(done)
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr or code not in (0, WRONG, COVERAGE) or not path.exists():
        raise explain(tool, done)
    if code:
        print(f"note: attnbench ended with {code}: cells that are not ok have no counters", file=sys.stderr)
    return reports.read(path, None), code


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
    """The counter file that `attnbench report --counters` reads (results/format.md)."""
    rows = [{"key": row["key"], "variant": row["variant"],
             "passes": [pass_counters(launch, kernels) for launch, kernels in zip(row["launches"], passes)]}
            for row, passes in capture.rows if row["launches"]]
    return {"schema": "attnbench.counters/1", "source": capture.source, "cache": capture.cache,
            "launches": capture.report["run"]["profile_launches"], "rows": rows}


# ---- programs ---------------------------------------------------------------------------------------------------

def add_options(parser):
    """The options that say what attnbench runs."""
    parser.add_argument("--sweep", required=True, metavar="FILE")
    parser.add_argument("--variants", metavar="A,B", help="as attnbench's")
    parser.add_argument("--filter", metavar="KEY=VALUE", action="append", help="as attnbench's; repeat to narrow")
    parser.add_argument("--load", metavar="FILE", action="append", help="as attnbench's")
    parser.add_argument("--device", default="cuda", metavar="NAME", help="as attnbench's (default: cuda)")
    parser.add_argument("--launches", type=int, default=1, metavar="N",
                        help="launches of every cell's plan, 1 to 1000; counters are their mean (default: 1)")
    program.add_attnbench_option(parser)


def check_options(parser, args):
    if not 1 <= args.launches <= 1000:
        parser.error(f"--launches: {args.launches} is not from 1 to 1000")


def shell(command):
    return shlex.join(str(word) for word in command)
