#!/usr/bin/env python3
"""Are the times that the head's program tells those that Nsight Systems sees?

  scripts/gate_witness.py --sweep gate.json --base-program OLD/attnbench --base base.json --program ./attnbench --report new.json

The program that a gate judges takes its own times. So each program launches the sweep once more under nsys, which times
the kernels from outside. What the report says became of a row, new time over base time, must be what nsys saw: a row
disagrees when the two ratios differ by more than 5 % and the two changes by more than 0.5 us. A row that disagrees is
launched again, up to three times, and counts when it disagrees every time. The gap between two launches, which hot times
hold and kernels do not, is on both sides.

Differences below 5 % are not seen. A program that finds out that nsys is there may launch other kernels than otherwise.

Exit code: 0 all rows agree; 6 a row disagrees, or the head's program does not run under nsys; 4, 9 the base's does not, or
nsys is missing; 2 usage; 7 a file is not a report.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile

from lib import profiler, program, reports
from lib.program import INTERNAL, NOT_COMPARABLE, Failure

LAUNCHES = 20
TRIES = 3
RATIO_MOST = 1.05
US_MOST = 0.5


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweep", required=True, metavar="FILE", help="what both reports measured")
    for side, text in (("base-", "the base's"), ("", "the head's")):
        parser.add_argument(f"--{side}program", required=True, metavar="PROGRAM", help=f"{text} attnbench")
    parser.add_argument("--base", required=True, metavar="REPORT", help="what the base's program reported")
    parser.add_argument("--report", required=True, metavar="REPORT", help="what the head's program reported")
    parser.add_argument("--device", default="cuda", metavar="NAME", help="as attnbench's (default: cuda)")
    return parser.parse_args()


def told_us(path, judge):
    """{(key, variant): hot median} of a report, over its processes where there are several."""
    times = {}
    for row in reports.read(path, judge)["results"]:
        if row["status"] != "ok" or not row["time"]["hot"]:
            continue
        processes = (row.get("processes") or {}).get("hot")
        times[row["key"], row["variant"]] = statistics.median(processes["median_us"]) if processes else reports.hot_us(row)
    return times


def seen_us(args, attnbench):
    """{(key, variant): duration of the kernels of one launch} as nsys sees them."""
    run = argparse.Namespace(attnbench=attnbench, sweep=args.sweep, device=args.device, variants=None, filter=None, load=None,
                             launches=LAUNCHES)
    with tempfile.TemporaryDirectory(prefix="attnbench-witness.") as name:
        capture = profiler.capture_nsys(run, pathlib.Path(name))
    return {(row["key"], row["variant"]): sum(statistics.median(kernel.values["gpu_time_us"] for kernel in kernels) for kernels in passes)
            for row, passes in capture.rows if passes}


def seen_of_head(args):
    try:
        return seen_us(args, args.program)
    except Failure as failure:
        raise Failure(NOT_COMPARABLE, f"the head's program under nsys: {failure}") from failure


def disagrees(told, seen):
    """Both are (base's, head's) microseconds of a row."""
    ratio = (told[1] / told[0]) / (seen[1] / seen[0])
    return max(ratio, 1 / ratio) > RATIO_MOST and abs((told[1] - told[0]) - (seen[1] - seen[0])) > US_MOST


def disputed(told, seen):
    """Rows that both sides told a time of and that nsys saw differently, or did not see: [(row, told, seen or None)]."""
    rows = []
    for row in sorted(told[0].keys() & told[1].keys()):
        if row not in seen[0]:
            continue  # a library's kernels that the base cannot give back either
        ours = told[0][row], told[1][row]
        theirs = (seen[0][row], seen[1][row]) if row in seen[1] else None
        if theirs is None or disagrees(ours, theirs):
            rows.append((row, ours, theirs))
    return rows


def change(pair):
    return f"{pair[0]:.4g} -> {pair[1]:.4g} us ({100 * (pair[1] / pair[0] - 1):+.1f} %)"


def main():
    args = parse_arguments()
    profiler.tool_path("nsys")
    told = told_us(args.base, args.base_program), told_us(args.report, args.base_program)
    always = None
    for _ in range(TRIES):
        rows = disputed(told, (seen_us(args, args.base_program), seen_of_head(args)))
        always = rows if always is None else [one for one in rows if one[0] in {other[0] for other in always}]
        if not always:
            break
    if not told[0].keys() & told[1].keys():
        raise Failure(INTERNAL, "the two reports have no row in common")
    for (key, variant), ours, theirs in always:
        saw = f"nsys saw {change(theirs)}" if theirs else "nsys saw none of its kernels"
        print(f"{key} {variant}: the reports say {change(ours)}, {saw}")
    return NOT_COMPARABLE if always else 0


if __name__ == "__main__":
    program.run_main(main)
