#!/usr/bin/env python3
"""Shows that a fault costs its own cell and no other: every planted fault of tests/faults/ first, in the middle and last
of a sweep, on the CPU or a GPU.

  scripts/proof/fault_matrix.py --attnbench PROGRAM --device cpu|cuda [--write]
  scripts/proof/fault_matrix.py --page [--check]

PROGRAM is attnbench-faulty (make test-programs), which has the faults; what a loaded variant leaves in its process is
tests/plugins/leaves.c, on a CPU alone. Each fault is one run of seven cells, three of them the fault; a lost card is
three runs of two cards each (tests/faults/cards.c makes two of one). Prints a line per
fault and ends with 1 when one is not as the table in this file says. --write puts what was seen into
results/fault_matrix.json and makes results/fault_matrix.md from it; --page makes the page alone, with --check it only says
whether the page is what the JSON says.

exit 1: a fault is not as expected, or the page is not what the JSON says; 2: usage; 9: a program does not start
"""
import argparse
import datetime
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import files, program
from lib.program import INTERNAL, ROOT, USAGE, Failure, execute
from lib.tables import table

DATA, PAGE = ROOT / "results/fault_matrix.json", ROOT / "results/fault_matrix.md"
PLACES = ("first", "middle", "last")
BESIDE = {"cpu": ("cpu_flash", "cpu_ref"), "cuda": ("scalar", "wmma")}
PREFIX = {"cpu": "fault_", "cuda": "gpu_fault_"}
DEVICES = {"cpu": "CPU", "cuda": "GPU"}
# How long a cell may take. A hang is waited for, so its runs have a short limit, which right cells beside it keep on a
# loaded machine too; every other fault answers at once.
HANG_TIMEOUT_S, TIMEOUT_S = 8, 60

SEGV, ILL, BUS, ABORT, KILL = (f"killed by signal {number} " for number in (11, 4, 7, 6, 9))
ENDED = "ended with exit status 0 before it answered"
# fault, its variant without the prefix, and per device its status and what its reason says.
FAULTS = (
    ("illegal access", "illegal", ("crashed", SEGV), ("error", "cudaErrorIllegalAddress")),
    ("misaligned access", "misaligned", ("crashed", BUS), ("error", "cudaErrorMisalignedAddress")),
    ("trap", "trap", ("crashed", ILL), ("error", "cudaErrorLaunchFailure")),
    ("endless loop", "hang", ("timeout", "no answer within"), ("timeout", "no answer within")),
    ("abort() on the host", "abort", ("crashed", ABORT), ("crashed", ABORT)),
    ("segfault on the host", "crash", ("crashed", SEGV), ("crashed", SEGV)),
    ("exit(0)", "exit", ("crashed", ENDED), ("crashed", ENDED)),
    ("worker killed (SIGKILL)", "killed", ("crashed", KILL), ("crashed", KILL)),
    ("memory refused", "oom", ("error", "refused"), ("error", "cudaErrorMemoryAllocation")),
    ("workspace beyond the device", "workspace", ("oom_predicted", "needs"), ("oom_predicted", "needs")),
    ("NaN output", "nan", ("wrong", "NaN"), ("wrong", "NaN")),
    ("write outside the tensors", "redzone", ("wrong", "outside its tensors"), ("wrong", "outside its tensors")),
    ("write into an input", "input", ("wrong", "inputs"), ("wrong", "inputs")),
    ("race between blocks", "race", ("wrong", "beyond tolerance"), ("wrong", "beyond tolerance")),
    ("device lost (simulated)", "lost", ("error", "is lost"), ("error", "is lost")),
)
# What a loaded variant leaves behind: its name for tests/plugins/leaves.c, and what its row says of it.
LEFTOVERS = (
    ("leaves four threads", "threads", "left 4 threads running"),
    ("leaves a thread that writes outputs", "writing_thread", "left 1 thread running"),
    ("starts threads when it is opened", "threads_opened", "when it was opened: left 4 threads running"),
    ("leaves a child that ignores SIGTERM", "stubborn_child", "left 1 child process"),
    ("leaves a daemon in a session of its own", "daemon", "child process"),
    ("forks in run, and both return", "copy", "left 1 child process"),
    ("forks in supports, and both return", "copy_supports", "left 1 child process"),
    ("leaves a process beside its worker", "sibling", "left 1 process beside its own"),
    ("leaves System V shared memory", "shared_memory", "left 1 System V object"),
    ("leaves setitimer", "interval_timer", "set an interval timer"),
    ("leaves a timer with a thread", "thread_timer", "left 1 thread running"),
    ("leaves a limit on file sizes", "limit", "changed resource limits"),
    ("blocks all signals", "mask", "changed the signal mask"),
    ("leaves a signal handler of its own", "own_handler", "changed the handler of signal 12 (leaves.so)"),
    ("leaves another locale", "locale", "changed the locale"),
    ("leaves another umask", "umask", "changed the umask"),
    ("leaves a variable in the environment", "variable", "changed the environment"),
    ("leaves another nice value", "nice", "changed the nice value"),
    ("leaves another oom_score_adj", "sacrificed", "oom_score_adj"),
    ("leaves another rounding mode", "rounding", "changed the floating-point mode"),
    ("leaves another working folder", "folder", "changed the working folder"),
    ("leaves descriptors open", "descriptors", "left 3 descriptors open"),
    ("reads the worker's pipe in a thread", "thief", "left 1 thread running"),
)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnbench", metavar="PROGRAM")
    parser.add_argument("--device", choices=list(DEVICES))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.page and not (options.attnbench and options.device):
        raise Failure(USAGE, "give --attnbench and --device, or --page")
    return options


# ---- runs -------------------------------------------------------------------------------------------------------

def key(b, length):
    return f"B{b}.H2.Hkv2.Sq{length}.Skv{length}.D64.f16.full"


def cells_of(fault, beside, places):
    """(case, variant) in the order of the sweep: the fault at these places, right variants around it."""
    before, behind = beside
    cells = {"first": [(1, fault)], "middle": [(2, fault)], "last": [(3, fault)]}
    parts = (cells["first"] if "first" in places else [], [(1, behind), (2, before)],
             cells["middle"] if "middle" in places else [], [(2, behind), (3, before)],
             cells["last"] if "last" in places else [])
    return [cell for part in parts for cell in part]


def run(options, fault, places, extra, length=65, **environment):
    shapes = [{"B": b, "H": 2, "S": length, "D": 64} for b in (1, 2, 3)]
    beside, timeout = BESIDE[options.device], HANG_TIMEOUT_S if fault.endswith("hang") else TIMEOUT_S
    with tempfile.TemporaryDirectory() as folder:
        sweep, report = f"{folder}/faults.json", f"{folder}/report.json"
        pathlib.Path(sweep).write_text(json.dumps({"attnbench_sweep": 1, "name": "faults", "shapes": shapes}))
        only = [word for b, variant in cells_of(fault, beside, places)
                for word in ("--only", f"{key(b, length)}/{variant}")]
        done = execute([options.attnbench, "--sweep", sweep, "--variants", f"{beside[0]},{fault},{beside[1]}", *only,
                        "--check-only", "--timeout", timeout, "--json", report, "--quiet", *extra],
                       ATTN_LOST=folder, **environment)
        if not os.path.exists(report):
            raise Failure(INTERNAL, f"{fault}: no report, exit {done.returncode}: {done.stderr.strip()}")
        return files.read_json(report)


def runs_of(options, name):
    """The reports of a fault, each with the places that it has there."""
    fault = PREFIX[options.device] + name
    if name != "lost":
        return [(PLACES, run(options, fault, PLACES, ["--device", options.device]))]
    cards = {"ATTN_CARDS": "2", "ATTN_CARDS_ON": options.device}
    return [((place,), run(options, fault, (place,), ["--devices", "0,1"], **cards)) for place in PLACES]


def told_of(result):
    return result["reason"] or result.get("left") or ""


def leaving(options, name):
    """The same of what tests/plugins/leaves.c leaves; it is right for one key."""
    loaded = pathlib.Path(options.attnbench).parent / "tests/plugins/leaves.so"
    report = run(options, "leaves", PLACES, ["--device", options.device, "--load", loaded], length=1, LEAVES=name,
                 LEAVES_FOLDER="/")
    return [(PLACES, report)]


def look_at(fault, runs, expected):
    """One row of the matrix."""
    row = {"variant": fault, "status": {}, "reason": "", "beside": 0, "beside_ok": 0}
    is_right, report = True, None
    for places, report in runs:
        faulty = [r for r in report["results"] if r["variant"] == fault]
        others = [r for r in report["results"] if r["variant"] != fault]
        row["status"].update({place: r["status"] for place, r in zip(places, faulty)})
        row["reason"] = row["reason"] or told_of(faulty[0])
        row["beside"] += len(others)
        row["beside_ok"] += sum(r["status"] == "ok" and "left" not in r for r in others)
        is_right = (is_right and len(faulty) == len(places) and report["run"]["state"] == "complete"
                    and len(report["results"]) == report["run"]["cells"]
                    and all(r["status"] == expected[0] and expected[1] in told_of(r) for r in faulty))
    row["as_expected"] = is_right and row["beside_ok"] == row["beside"] > 0
    return row, report


def planted(options):
    """Each fault, its variant, its status with what its rows tell, and its reports."""
    for fault, name, *expected in FAULTS:
        yield fault, PREFIX[options.device] + name, expected[list(DEVICES).index(options.device)], runs_of(options, name)
    for fault, name, told in LEFTOVERS if options.device == "cpu" else ():
        yield fault, "leaves", ("ok", told), leaving(options, name)


def matrix(options):
    rows, report = {}, None
    for fault, variant, expected, runs in planted(options):
        row, report = look_at(variant, runs, expected)
        rows[fault] = row
        print(f"{'as expected' if row['as_expected'] else 'NOT as expected':16}{fault}: {row['status']}, "
              f"{row['beside_ok']} of {row['beside']} others ok; {row['reason'][:100]}", flush=True)
    # A device's policy and name are those of the last report.
    return {"device": report["device"]["name"], "driver": report["device"]["driver"],
            "version": report["tool"]["version"], "git_commit": report["tool"]["git_commit"],
            "measured_utc": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "rows": rows}


# ---- the page ---------------------------------------------------------------------------------------------------

def told(part):
    driver = f", driver {part['driver']}" if part["driver"] else ""
    return f"{part['device']}{driver}, attnbench {part['version']} ({part['git_commit']}), {part['measured_utc']}"


def shortened(reason):
    reason = reason.replace("|", "\\|")
    return reason if len(reason) <= 120 else reason[:117] + "..."


def row_of(fault, part):
    row = part["rows"].get(fault)
    if row is None:
        return [fault, "not run", "", "", ""]
    statuses = {row["status"].get(place, "no row") for place in PLACES}
    return [fault, " / ".join(sorted(statuses)), shortened(row["reason"]), f"{row['beside_ok']} of {row['beside']}",
            "yes" if row["as_expected"] else "**no**"]


def page(data):
    blocks = [
        "# What a fault costs",
        "Made by `scripts/proof/fault_matrix.py` from `fault_matrix.json`; do not edit. Each fault is planted first, in the "
        "middle and last of a sweep, between kernels that are right. It must cost its own cells, with this status and "
        "reason, and every other cell must be measured: the column *others* counts those that are ok. A device is lost in "
        "runs of two cards, of which the other one measures what is left. Faults of the second kind, on a CPU alone, are "
        "right variants of a loaded object that leave something in their process: their rows are ok and say what was "
        "left, and no other row says such a thing.",
    ]
    for device, name in DEVICES.items():
        part = data["devices"].get(device)
        if part is None:
            continue
        blocks += [f"## On a {name}", told(part) + ".",
                   table(["fault", "status, at each place", "reason, or what was left", "others", "as it must be"],
                         [row_of(fault, part) for fault, *_ in FAULTS + (LEFTOVERS if device == "cpu" else ())],
                         ["others"])]
    return "\n\n".join(blocks) + "\n"


def read_data():
    return files.read_json(DATA) if DATA.exists() else {"schema": "attnbench.fault_matrix/1", "devices": {}}


def write_page(check):
    text = page(read_data())
    if not check:
        files.write_whole(PAGE, text)
        return 0
    is_same = PAGE.exists() and PAGE.read_text() == text
    print(f"{PAGE.name}: {'is' if is_same else 'is not'} what {DATA.name} says")
    return 0 if is_same else 1


def main():
    options = arguments()
    if options.page:
        return write_page(options.check)
    made = matrix(options)
    if options.write:
        data = read_data()
        data["devices"][options.device] = made
        files.write_whole(DATA, files.json_text(data))
        write_page(False)
    unlike = [f"{fault} ({row['status']}; {row['reason'][:200]})"
              for fault, row in made["rows"].items() if not row["as_expected"]]
    if unlike:
        print(f"not as expected: {'; '.join(unlike)}", file=sys.stderr)
    return 1 if unlike else 0


if __name__ == "__main__":
    program.run_main(main)
