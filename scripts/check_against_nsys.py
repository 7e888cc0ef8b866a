#!/usr/bin/env python3
"""Does Nsight Systems see what attnbench says?

Runs attnbench once under nsys, then compares every measured cell and mode with the kernels nsys recorded in it.
Kernels are found through attnbench's NVTX ranges (domain attnbench: sweep > case > variant > time.cold / time.hot),
so the ranges are tested on the way.

  hot   attnbench's median, as it stands, against the sum of the passes' median durations.
  cold  attnbench's median less the constant cost of its event pair, which the report states
        (device.event_overhead_us), against the median time from the first pass's start to the last pass's end.

A row agrees when the difference is within 3 % or 1 us. Prints one row per cell and mode, then a summary. Exit status:
0 all agree, 1 some do not, 2 nothing could be compared. Needs nsys on the PATH; Python's standard library only.
"""
import argparse
import bisect
import collections
import json
import pathlib
import re
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
    named = db.execute("SELECT domainId FROM NVTX_EVENTS WHERE eventType = 75 AND text = 'attnbench'")
    domains = {domain for (domain,) in named}
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
    """(start, end, name) of every kernel in us, by the window it was launched in, in order of start. Kernels of a
    graph carry the launch of their graph."""
    starts = [w[0] for w in windows]
    found = collections.defaultdict(list)
    rows = db.execute("SELECT r.start, k.start * 1e-3, k.end * 1e-3, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                      "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND "
                      "r.globalTid / 0x1000000 = k.globalPid / 0x1000000 "
                      "JOIN StringIds s ON s.id = k.demangledName ORDER BY k.start")
    for launched, start, end, name in rows:
        i = bisect.bisect_right(starts, launched) - 1
        if i >= 0 and launched < windows[i][1]:
            found[windows[i][2:]].append((start, end, name))
    return found


def plain(kernel):
    """A kernel's name without return type, template and call arguments, which demanglers write differently."""
    return kernel.removeprefix("void ").split("<")[0].split("(")[0]


def launches(result, kernels):
    """The kernels of the plan, as one list of passes per launch of the whole plan."""
    names = [plain(launch["kernel"]) for launch in result["launches"]]
    ours = [k for k in kernels if plain(k[2]) in names]
    count = len(names)
    groups = [ours[i:i + count] for i in range(0, len(ours) - count + 1, count)]
    return [g for g in groups if [plain(k[2]) for k in g] == names]


def nsys_us(result, mode, kernels):
    """What nsys says of one launch of the plan; None when it saw none."""
    groups = launches(result, kernels)
    if not groups:
        return None
    if mode == "cold":
        return statistics.median(g[-1][1] - g[0][0] for g in groups)
    return sum(statistics.median(g[i][1] - g[i][0] for g in groups) for i in range(len(groups[0])))


def compare(report, found):
    """Yields (result, mode, median, median as compared, nsys) for every measured cell and mode, microseconds."""
    overhead = report["device"]["event_overhead_us"]
    for result in report["results"]:
        # A vendor's library launches through the driver's own calls, which are not in the table that is joined here.
        vendor = any("?" in launch["axis_covers"] for launch in result["launches"])
        for mode in MODES if result["status"] == "ok" and not vendor else ():
            median = result["time"][mode]["median_us"]
            name = re.sub("[:,]", ".", result["variant"])
            yield (result, mode, median, median - overhead if mode == "cold" else median,
                   nsys_us(result, mode, found.get((result["key"], name, mode), [])))


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
    print(f"{'case':42} {'variant':10} {'mode':5} {'median us':>10} {'compared':>10} {'nsys us':>10} {'diff':>7}")
    bad = judged = 0
    for result, mode, median, compared, nsys in compare(report, found):
        label = f"{result['key']:42} {result['variant']:10} {mode:5} {median:10.2f} {compared:10.2f}"
        if nsys is None:
            print(f"{label} not seen by nsys")
            bad += 1
            continue
        judge = nsys >= FLOOR_US
        agrees = abs(compared - nsys) <= max(TOLERANCE_US, TOLERANCE_RATIO * nsys)
        judged += judge
        bad += judge and not agrees
        remark = "" if agrees else "  differs" if judge else "  (short)"
        print(f"{label} {nsys:10.2f} {compared - nsys:+7.2f}{remark}")
    print(f"constant of an event pair: {report['device']['event_overhead_us']:.2f} us, taken off cold medians")
    print(f"{judged} rows over {FLOOR_US:g} us: {judged - bad} within 3 % or 1 us, {bad} not")
    return 1 if bad or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
