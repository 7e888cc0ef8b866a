#!/usr/bin/env python3
"""Runs a sweep under ncu or nsys and assigns every kernel that the tool saw to the cell that launched it.

  scripts/profile_sweep.py --tool ncu --sweep shapes/v3.json --json v3_counters.json
  scripts/profile_sweep.py --tool ncu --sweep shapes/v3.json --report v3.json --csv v3.csv    # counters into a saved report
  scripts/profile_sweep.py --tool nsys --sweep shapes/v3.json --out v3.nsys-rep               # keep the trace for the viewer

`attnbench --profile=N` launches every cell's kernels in one range and nothing else; the tool's kernels are matched
with the report's launches one by one (name, grid, block), and a mismatch is an error. The counters reach the report
through `attnbench report --counters`, so that its JSON and CSV rows carry them and the findings quote them. Times are
never taken under a tool: without --report the sweep is measured once more, without the tool.

--cache cold flushes the caches before every kernel, as a cold time does; hot leaves them as the last launch did.
Clocks are not locked. NCU and NSYS in the environment name the tools' programs when they are not on the PATH.

Exit code: 0; 2 usage; 4 the capture does not hold exactly the cells' kernels, or --report has none of its rows; 6 --report
is of another GPU; 7 --report is not a report; 8 an output cannot be written; 9 the tool is missing, failed, or may not read
the counters; 130, 143 interrupted; else attnbench's own. An output is written whole or not at all.
"""
import argparse
import pathlib
import sys
import tempfile

from lib import files, profiler, program, reports
from lib.metrics import QUANTITIES, Metrics
from lib.program import Failure
from lib.tables import table_part

SHOWN = (("us", "gpu_time_us", 1), ("DRAM MB", "dram_read_bytes", 1e-6), ("L2 MB", "l2_bytes", 1e-6),
         ("L2 hit %", "l2_hit_ratio", 100), ("tensor %", "tensor_pipe_ratio", 100), ("issue %", "issue_ratio", 100),
         ("occupancy %", "achieved_occupancy_ratio", 100), ("bank conflicts", "shared_bank_conflicts", 1),
         ("local MB", "local_bytes", 1e-6))

CACHES = {"ncu": "cold", "nsys": "hot"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, choices=("ncu", "nsys"))
    profiler.add_options(parser)
    parser.add_argument("--cache", choices=("cold", "hot"), help="ncu: default cold; nsys can only leave them hot")
    parser.add_argument("--report", metavar="FILE", help="report whose rows get the counters (default: measured now)")
    parser.add_argument("--json", metavar="FILE", help="the report with counters as JSON; - is stdout")
    parser.add_argument("--csv", metavar="FILE", help="the report with counters as CSV; - is stdout")
    parser.add_argument("--counters", metavar="FILE", help="the counters alone, for attnbench report --counters")
    parser.add_argument("--out", metavar="FILE", help="keep the tool's own report here")
    parser.add_argument("--print-command", action="store_true", help="print the commands, run nothing")
    args = parser.parse_args()
    profiler.check_options(parser, args)
    if args.tool == "nsys" and args.cache == "cold":
        parser.error("--cache cold: nsys cannot flush the caches; use ncu")
    args.cache = args.cache or CACHES[args.tool]
    paths = outputs_of(args)
    for path in paths:
        if paths.count(path) > 1:
            parser.error(f"{path} is named for two outputs; name two files")
    return args


def outputs_of(args):
    return [str(path) for path in (args.json, args.csv, args.counters, args.out) if path is not None]


def report_command(args, times, counters, folder):
    command = [args.attnbench, "report", times, "--counters", counters]
    for option, wanted in (("--json", args.json), ("--csv", args.csv)):
        command += [option, folder / f"out.{option[2:]}"] if wanted else []
    return command


def print_commands(args):
    """Every command of a run. Files that a run keeps in a temporary folder are shown without one."""
    here = pathlib.Path()
    export = args.out or here / f"profile.{args.tool}-rep"
    commands = []
    if args.tool == "ncu":
        metrics = Metrics(QUANTITIES, True, None)
        commands.append(profiler.ncu_command(args, metrics, export, here / "profile.json", args.cache))
        commands.append(profiler.ncu_import_command(export))
    else:
        commands.append(profiler.nsys_command(args, export, here / "profile.json"))
        commands.append(profiler.nsys_export_command(export, here / "profile.sqlite"))
    if (args.json or args.csv) and not args.report:
        commands.append(profiler.attnbench_command(args, "--json", here / "times.json"))
    if args.json or args.csv:
        commands.append(report_command(args, args.report or here / "times.json", here / "counters.json", here))
    print("\n".join(map(profiler.shell, commands)))


def only_rows_of(document, report):
    """The counters of rows that the report measured; the others are named."""
    timed = reports.ok_rows(report)
    for row in document["rows"]:
        if (row["key"], row["variant"]) not in timed:
            print(f"note: {row['key']} {row['variant']} is not ok in the report; left out", file=sys.stderr)
    return {**document, "rows": [row for row in document["rows"] if (row["key"], row["variant"]) in timed]}


def fold(args, capture, document, folder):
    """({output: text} of the report with the counters in it, this report's exit code)."""
    times = args.report or profiler.measure(args, folder)
    counters, report = folder / "counters.json", reports.read(times, args.attnbench)
    reports.require_comparable(report, times, capture.report)
    counters.write_text(files.json_text(only_rows_of(document, report)))
    done = program.execute(report_command(args, times, counters, folder))
    made = {wanted: folder / f"out.{name}" for name, wanted in (("json", args.json), ("csv", args.csv)) if wanted}
    if not all(path.exists() for path in made.values()):
        raise Failure(program.code_of(done.returncode),
                      f"attnbench report --counters ended with {done.returncode}:\n{program.last_lines(done)}")
    return {wanted: path.read_bytes().decode() for wanted, path in made.items()}, done.returncode


def counter_table(document):
    rows = []
    for row in document["rows"]:
        for number, one in enumerate(row["passes"]):
            values = [one[key] * scale if key in one else None for _, key, scale in SHOWN]
            stall = one.get("top_stall")
            rows.append([row["key"], row["variant"], number, *values,
                         f"{stall['name']} {100 * stall['ratio']:.0f} %" if stall else None])
    columns = ["case", "variant", "pass", *(name for name, _, _ in SHOWN), "top stall"]
    return "\n\n".join(table_part({"columns": columns, "rows": rows}, "counters"))


def check_before(args):
    """What can be known to be missing before anything takes time."""
    for path in outputs_of(args):
        files.check_output(path)
        files.check_apart(path, args.attnbench)
    profiler.tool_path(args.tool)
    program.require_program(args.attnbench)
    if args.report:
        reports.read(args.report, args.attnbench)


def capture_with(args, folder, kept):
    if args.tool == "ncu":
        return profiler.capture_ncu(args, folder, QUANTITIES, True, args.cache, kept)
    return profiler.capture_nsys(args, folder, kept)


def main():
    args = parse_arguments()
    if args.print_command:
        print_commands(args)
        return 0
    check_before(args)
    with tempfile.TemporaryDirectory(prefix="attnbench-profile.") as name:
        folder = pathlib.Path(name)
        kept = folder / f"profile.{args.tool}-rep"
        capture = capture_with(args, folder, kept)
        document = profiler.counters_document(capture)
        # First what took the longest: the report may still fail.
        if args.counters:
            files.write_whole(args.counters, files.json_text(document))
        if args.out:
            files.copy_whole(kept, args.out)
        outputs, code = fold(args, capture, document, folder) if args.json or args.csv else ({}, 0)
        for path, text in outputs.items():
            files.write_whole(path, text)
    if "-" not in outputs_of(args):
        files.write_whole("-", f"{capture.source}, {document['launches']} launch(es) a cell, caches {capture.cache}\n\n"
                                 f"{counter_table(document)}\n")
    return capture.exit_code or code


if __name__ == "__main__":
    program.run_main(main)
