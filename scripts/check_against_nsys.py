#!/usr/bin/env python3
"""Does Nsight Systems see what attnbench says?

Runs attnbench once under nsys, then compares, for every measured cell and mode, the median duration of the cell's kernels
as nsys recorded them with attnbench's own median from the same run. Kernels are found through attnbench's NVTX ranges
(domain attnbench: sweep > case > variant > time.cold / time.hot), so the ranges are tested on the way.

attnbench's numbers hold what a user waits for: cold times include the constant cost of an event pair, hot times the gap between
two graph nodes. nsys has kernels only. A cell agrees when the difference is within 3 % or 1 us.

Prints one table row per cell and mode, then a summary. Exit status: 0 all agree, 1 some do not, 2 could not be compared.
Needs nsys on the PATH; Python's standard library only.
"""
import argparse
import bisect
import collections
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys

TOLERANCE_RATIO = 0.03
TOLERANCE_US = 1.0
FLOOR_US = 10.0  # below it, constant costs decide; such rows are shown but not judged
MODES = ("cold", "hot")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def capture(args, folder):
    """Runs attnbench under nsys; returns the report and the path of the exported database."""
    trace, report = folder / "trace", folder / "report.json"
    run(["nsys", "profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none", "--cpuctxsw=none",
         "--force-overwrite=true", "-o", trace, args.attnbench, "--sweep", args.sweep, "--device", "cuda",
         "--json", report])
    database = folder / "trace.sqlite"
    run(["nsys", "export", "--type=sqlite", "--force-overwrite=true", "-o", database, f"{trace}.nsys-rep"])
    return json.loads(report.read_text()), database


def read_ranges(db):
    """The push/pop ranges of the attnbench domain as (start, end, name), by start."""
    # NVTX type 75 names a domain, 59 is a push/pop range.
    domains = [d for (d,) in db.execute("SELECT domainId FROM NVTX_EVENTS WHERE eventType = 75 AND text = 'attnbench'")]
    rows = db.execute("SELECT n.start, n.end, COALESCE(n.text, s.value), n.domainId FROM NVTX_EVENTS n "
                      "LEFT JOIN StringIds s ON s.id = n.textId WHERE n.eventType = 59 AND n.end IS NOT NULL "
                      "ORDER BY n.start")
    return [(start, end, name) for start, end, name, domain in rows if domain in domains]


def timing_windows(ranges):
    """(start, end, case, variant, mode) of every timing range, from the nesting of the ranges."""
    windows, stack = [], []
    for start, end, name in ranges:
        while stack and stack[-1][1] <= start:
            stack.pop()
        if name.startswith("time.") and name[5:] in MODES:
            if len(stack) != 3:
                sys.exit(f"range {name} is nested {len(stack)} deep; expected sweep > case > variant")
            windows.append((start, end, stack[1][2], stack[2][2], name[5:]))
        stack.append((start, end, name))
    return windows


def kernels_by_window(db, windows):
    """Kernel durations in us by window and kernel name. A kernel belongs to the window in which it was launched; kernels of
    a graph carry the launch of their graph."""
    starts = [w[0] for w in windows]
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    rows = db.execute("SELECT r.start, k.end - k.start, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                      "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND "
                      "r.globalTid / 0x1000000 = k.globalPid / 0x1000000 "
                      "JOIN StringIds s ON s.id = k.demangledName")
    for launched, duration, name in rows:
        i = bisect.bisect_right(starts, launched) - 1
        if i >= 0 and launched < windows[i][1]:
            found[windows[i]][name].append(duration * 1e-3)
    return found


def plain(kernel):
    """A kernel's name without return type, template and call arguments, which demanglers write differently."""
    return kernel.removeprefix("void ").split("<")[0].split("(")[0]


def nsys_median(result, kernels):
    """Sum over the plan's passes of the median duration; None when a pass was not seen."""
    total = 0.0
    for launch in result["launches"]:
        durations = [d for name, ds in kernels.items() if plain(name) == plain(launch["kernel"]) for d in ds]
        if not durations:
            return None
        total += statistics.median(durations)
    return total


def compare(report, found):
    by_cell = {(case, variant, mode): kernels for (_, _, case, variant, mode), kernels in found.items()}
    for result in report["results"]:
        for mode in MODES:
            # A vendor's library launches through the driver's own calls, which are not in the table that is joined here.
            vendor = any("?" in launch["axis_covers"] for launch in result["launches"])
            if result["status"] != "ok" or vendor or not result["launches"]:
                continue
            ours = result["time"][mode]["median_us"]
            theirs = nsys_median(result, by_cell.get((result["key"], result["variant"].split(":")[0], mode), {}))
            if theirs is None:
                yield result, mode, ours, None, None
                continue
            yield result, mode, ours, theirs, ours - theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnbench", default="./attnbench")
    parser.add_argument("--sweep", default="shapes/v3.json")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder for the trace and the report")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)

    report, database = capture(args, args.output)
    with sqlite3.connect(database) as db:
        windows = timing_windows(read_ranges(db))
        found = kernels_by_window(db, windows)
    if not windows:
        print("nsys recorded no attnbench range")
        return 2
    print(f"{'case':42} {'variant':10} {'mode':5} {'attnbench':>10} {'nsys':>10} {'diff':>8}")
    bad = judged = 0
    for result, mode, ours, theirs, difference in compare(report, found):
        label = f"{result['key']:42} {result['variant']:10} {mode:5} {ours:10.2f}"
        if theirs is None:
            print(f"{label} not seen by nsys")
            bad += 1
            continue
        judge = theirs >= FLOOR_US
        agrees = abs(difference) <= max(TOLERANCE_US, TOLERANCE_RATIO * theirs)
        judged += judge
        bad += judge and not agrees
        print(f"{label} {theirs:10.2f} {difference:+8.2f}{'' if agrees else '  differs' if judge else '  (short)'}")
    print(f"{judged} of them over {FLOOR_US:g} us; {judged - bad} agree within 3 % or 1 us, {bad} do not")
    if bad == 0 and judged > 0:
        print("all kernels over 10 us are within 3 % or 1 us")
    return 1 if bad or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
