#!/usr/bin/env python3
"""Is attnbench's clock right? Its cold and hot medians beside what Nsight Systems and Nsight Compute say of the same
kernels.

  scripts/proof/timer_truth.py --sweep shapes/v3.json --json results/h200/timer.json [--tools nsys,ncu]

E is what the tool says an empty kernel lasts, O what attnbench's events cost around one (device.event_overhead_us), L
the launches per hot sample. attnbench's figure is its median less a constant; what is compared with what:

  hot   attnbench: events around a graph of L back-to-back launches, over L.
        nsys, the very same graphs (the run is traced with --cuda-graph-trace=node): from the first kernel's start to
        the last one's end, over L, median over the graphs. Constant: (O - E) / L.
        ncu, other launches (--profile, one at a time, caches left alone): the passes' gpu__time_duration, median over
        the launches. Constant: passes x (--node-us - E), a node of a chain less an empty kernel. attnbench's SM clock
        is that of the launches, and ncu's times are taken to it: lone kernels run at another.
  cold  attnbench: events around one launch after an L2 flush.
        nsys, the very same launches: from the first pass's start to the last one's end. Constant: O - E.
        ncu, other launches (caches flushed before every pass): as above. Constant: O - E. Times are left as they are:
        attnbench's SM clock is the mean over flushes and pauses too, in which it rises; the kernel's own is not known.

Against nsys attnbench's medians are those of the traced run, since tracing slows launches; against ncu they are the
median over --processes untraced runs. A row is right within 1 % or 0.5 us (the bar). A row outside of it is explained
only by a reason below whose bounds, made of the same runs' numbers, hold the difference (give or take the bar, as the
bounds are medians too); anything else is wrong. Tables go to stdout as Markdown and to --json (attnbench.table/1).

Exit code: 0 every row is right or explained; 1 some are not; 4 nothing was judged, or kernels are missing; else as
scripts/profile_sweep.py.
"""
import argparse
import bisect
import collections
import itertools
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import files, profiler, program, reports
from lib.metrics import Metrics
from lib.program import Failure
from lib.reports import case_label
from lib.tables import section

TOLERANCE_RATIO = 0.01
TOLERANCE_US = 0.5
MODES = ("hot", "cold")
NCU_LAUNCHES = 9
PROCESSES = 3
EMPTY_KERNEL = "empty_kernel"
COLUMNS = ["case", "variant", "attnbench us", "constant us", "tool us", "difference us", "difference %", "verdict"]

# Why a row is outside of the bar; the bounds of the difference are made where the row is.
REASONS = {
    "gap": "between back-to-back launches of this plan the GPU does something that is no part of a kernel's duration: "
           "in the trace of the same run its kernels are further apart than they last. ncu sees lone kernels and none "
           "of it: 0 up to that gap",
    "launch": "the constant is of an empty kernel, and this plan's kernels take longer to launch: attnbench's events "
              "hold what comes before the first kernel, nsys' durations do not. 0 up to the gap that the same trace "
              "has between two of these kernels",
    "other_launches": "nsys timed attnbench's own launches and agrees with its events on them, and has the kernels "
                      "themselves last longer or shorter than ncu's lone ones by as much (both less an empty kernel): "
                      "ncu's are other launches, after another flush or none. 0 up to that difference of the tools",
    "clock": "the kernel's own SM clock is not known: between ncu's and the one that attnbench measured over the "
             "launches and the pauses between them; the bounds are ncu's time at either",
    "processes": "attnbench's own processes differ by as much among themselves (where memory lies, and so what becomes "
                 "of it in L2, is another matter in every process); ncu's process is one more: lowest to highest of "
                 "their medians, cold ones with the traced process'",
    "launches": "single launches of this plan differ by as much, lowest to highest of ncu's, or 5 to 95 % of those "
                "in the trace of the same run; ncu's are other launches than attnbench's",
    "flushed_between_passes": "ncu flushes the caches before every pass, attnbench before the first: later passes are "
                              "slower under ncu, by their whole duration at most",
}


# ---- nsys -------------------------------------------------------------------------------------------------------

# One launch of a plan: from start to end; its kernels alone; between two kernels; from 5 to 95 % of single launches.
Seen = collections.namedtuple("Seen", "us busy_us gap_us spread_us")


def trace(args, folder):
    """Runs attnbench under nsys; returns the report and the exported database."""
    export, report, database = folder / "trace.nsys-rep", folder / "traced.json", folder / "trace.sqlite"
    done = profiler.run_tool(["nsys", "profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none",
                              "--cpuctxsw=none", "--force-overwrite=true", "-o", profiler.stem(export),
                              *profiler.attnbench_command(args, "--json", report)])
    data, _ = profiler.checked_report("nsys", done, report)
    done = profiler.run_tool(profiler.nsys_export_command(export, database))
    if done.returncode != 0 or not database.exists():
        raise profiler.explain("nsys export", done)
    return data, database


def read_ranges(db):
    """The push/pop ranges of the attnbench domain as (start, end, name), by start."""
    if not profiler.has_table(db, "NVTX_EVENTS"):
        return []
    # NVTX type 75 names a domain, 59 is a push/pop range.
    named = db.execute("SELECT domainId FROM NVTX_EVENTS WHERE eventType = 75 AND text = 'attnbench'")
    domains = {domain for (domain,) in named}
    rows = db.execute("SELECT n.start, n.end, COALESCE(n.text, s.value), n.domainId FROM NVTX_EVENTS n "
                      "LEFT JOIN StringIds s ON s.id = n.textId WHERE n.eventType = 59 AND n.end IS NOT NULL "
                      "ORDER BY n.start")
    return [(start, end, name) for start, end, name, domain in rows if name and domain in domains]


def timing_windows(ranges):
    """(start, end, case, variant, mode) of every timing range, from the nesting of the ranges."""
    windows, stack = [], []
    for start, end, name in ranges:
        while stack and stack[-1][1] <= start:
            stack.pop()
        if name.startswith("time.") and name[5:] in MODES:
            if len(stack) != 3:
                raise Failure(program.INTERNAL,
                              f"range {name} is nested {len(stack)} deep; expected sweep > case > variant")
            windows.append((start, end, stack[1][2], stack[2][2], name[5:]))
        stack.append((start, end, name))
    return windows


# Kernels of a graph carry the launch of their graph. A vendor's library launches through driver calls that the
# runtime's table lacks; such a kernel is placed by its own start, and a timing range ends after its last kernel has.
KERNELS = ("SELECT COALESCE(r.start, k.start), k.start * 1e-3, k.end * 1e-3, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k "
           "LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND "
           "r.globalTid / 0x1000000 = k.globalPid / 0x1000000 "
           "JOIN StringIds s ON s.id = k.demangledName ORDER BY k.start")


def read_trace(database):
    """({(case, variant, mode): [(start us, end us, name, launched)]}, durations of the timer's empty kernels)."""
    with profiler.open_trace(database) as db:
        windows = timing_windows(read_ranges(db))
        rows = db.execute(KERNELS).fetchall() if profiler.has_table(db, "CUPTI_ACTIVITY_KIND_KERNEL") else []
    if not windows:
        raise Failure(program.COVERAGE, "nsys recorded no attnbench range")
    starts, found, empty = [w[0] for w in windows], collections.defaultdict(list), []
    for launched, start, end, name in rows:
        if profiler.base_name(name) == EMPTY_KERNEL:
            empty.append(end - start)
        i = bisect.bisect_right(starts, launched) - 1
        if i >= 0 and launched < windows[i][1]:
            found[windows[i][2:]].append((start, end, name, launched))
    return found, empty


def plan_launches(result, kernels):
    """The kernels of the plan, as one list of passes per launch of the whole plan."""
    names = [profiler.base_name(launch["kernel"]) for launch in result["launches"]]
    ours = [k for k in kernels if profiler.base_name(k[2]) in names]
    groups, i = [], 0
    while i + len(names) <= len(ours):
        whole = [profiler.base_name(k[2]) for k in ours[i:i + len(names)]] == names
        groups += [ours[i:i + len(names)]] if whole else []
        i += len(names) if whole else 1
    return groups


def whole_samples(launches, per_sample):
    """The launches of every sample that is there whole: a graph's kernels carry the launch of their graph."""
    if per_sample == 1:
        return [[launch] for launch in launches]
    graphs = [list(graph) for _, graph in itertools.groupby(launches, key=lambda launch: launch[0][3])]
    whole = [graph for graph in graphs if len(graph) == per_sample]
    if whole or len(launches) % per_sample:
        return whole
    return [launches[i:i + per_sample] for i in range(0, len(launches), per_sample)]  # launched by calls not traced


def span_us(kernels):
    return kernels[-1][1] - kernels[0][0]


def spread_of(values):
    """5 to 95 % of them."""
    ordered = sorted(values)
    return ordered[int(0.95 * (len(ordered) - 1))] - ordered[int(0.05 * len(ordered))]


def seen_by_nsys(result, mode, kernels):
    """What nsys says of a row's launches; None when it saw none whole."""
    per_sample = result["time"][mode]["launches_per_sample"]
    samples = whole_samples(plan_launches(result, kernels), per_sample)
    if not samples:
        return None
    flat = [[kernel for launch in sample for kernel in launch] for sample in samples]
    busy = [sum(kernel[1] - kernel[0] for kernel in one) for one in flat]
    gaps = [(span_us(one) - time) / max(len(one) - 1, 1) for one, time in zip(flat, busy)]
    return Seen(statistics.median(map(span_us, flat)) / per_sample, statistics.median(busy) / per_sample,
                statistics.median(gaps), spread_of([span_us(launch) for sample in samples for launch in sample]))


class Trace:
    """A traced run: its report, and what nsys says of every row and mode that it saw."""

    def __init__(self, report, found, empty):
        if not empty:
            raise Failure(program.COVERAGE, f"nsys saw no {EMPTY_KERNEL}, which the constants need")
        self.report, self.empty_us, self.seen = report, statistics.median(empty), {}
        for mode in MODES:
            for result in timed_rows(report, mode):
                kernels = found.get((result["key"], profiler.range_name(result["variant"]), mode), [])
                self.seen[result["key"], result["variant"], mode] = seen_by_nsys(result, mode, kernels)

    def of(self, result, mode):
        return self.seen.get((result["key"], result["variant"], mode))

    def constant_us(self):
        return self.report["device"]["event_overhead_us"] - self.empty_us


# ---- rows -------------------------------------------------------------------------------------------------------

class Judged:
    """One row: attnbench's median and constant, the tool's time, and why a difference may be: (reason, low, high)."""

    def __init__(self, result, median, constant=None, theirs=None, reasons=()):
        self.result, self.median, self.constant, self.theirs = result, median, constant, theirs
        self.difference = self.reason = None
        self.verdict = "**not seen**"
        if theirs is not None:
            self.difference = median - constant - theirs
            self.judge(max(TOLERANCE_US, TOLERANCE_RATIO * theirs), reasons)

    def judge(self, bar, reasons):
        self.verdict = "right" if abs(self.difference) <= bar else "**wrong**"
        for reason in reasons if self.verdict != "right" else ():
            if reason[1] - bar <= self.difference <= reason[2] + bar:
                self.reason, self.verdict = reason, reason[0]
                return

    def cells(self):
        percent = None if self.difference is None else 100 * self.difference / self.theirs
        numbers = [self.median, self.constant, self.theirs, self.difference, percent]
        return [*name_of(self.result), *(None if x is None else round(x, 4) for x in numbers), self.verdict]


def timed_rows(report, mode):
    return [row for row in report["results"]
            if row["status"] == "ok" and row["launches"] and row["time"] and row["time"][mode]]


def name_of(result):
    return [case_label(result["key"]), f"`{result['variant']}`"]


def table_of(title, judged, note):
    return {"title": title, "columns": COLUMNS, "rows": [one.cells() for one in judged], "notes": [note],
            "judged": judged}


def nsys_reasons(result, mode, traced):
    """The launch of a kernel lies before a cold launch's first kernel; in a graph it lies between kernels."""
    seen = [traced.of(result, which) for which in MODES] if mode == "cold" and result["time"]["hot"] else []
    gap = max((one.gap_us for one in seen if one), default=0.0)
    if gap > TOLERANCE_US:
        yield "launch", 0.0, gap


def judged_by_nsys(result, mode, traced):
    time, seen = result["time"][mode], traced.of(result, mode)
    if seen is None:
        return Judged(result, time["median_us"])
    constant = traced.constant_us() / time["launches_per_sample"]
    return Judged(result, time["median_us"], constant, seen.us, nsys_reasons(result, mode, traced))


def nsys_tables(traced):
    overhead, tables = traced.report["device"]["event_overhead_us"], []
    for mode in MODES:
        judged = [judged_by_nsys(result, mode, traced) for result in timed_rows(traced.report, mode)]
        span = {"hot": "of a graph from the first start to the last end, per launch, and the constant per launch",
                "cold": "from the first start to the last end of a launch, and the constant"}[mode]
        note = (f"The tool's time is {span} the {overhead:.2f} us of an event pair around an empty kernel less the "
                f"{traced.empty_us:.2f} us that nsys says it lasts.")
        tables.append(table_of(f"{mode}, nsys", judged, note))
    return tables


# ---- ncu --------------------------------------------------------------------------------------------------------

def ncu_empty_us(args, folder):
    """What ncu says an empty kernel lasts: those of the timer's own set-up."""
    export, metrics = folder / "empty.ncu-rep", Metrics(("gpu_time_us",), False, None)
    command = ["ncu", "--clock-control", "none", "--cache-control", "none", "--kernel-name",
               f"regex:{EMPTY_KERNEL}", "--launch-count", "20", "--metrics", ",".join(metrics.names()),
               "--force-overwrite", "--export", profiler.stem(export),
               *profiler.attnbench_command(args, "--profile=1", "--json", folder / "empty.json")]
    profiler.checked_report("ncu", profiler.run_tool(command), folder / "empty.json")
    times = [kernel.values["gpu_time_us"] for kernel in profiler.imported_kernels(export, metrics)
             if profiler.base_name(kernel.name) == EMPTY_KERNEL]
    if not times:
        raise Failure(program.COVERAGE, f"ncu saw no {EMPTY_KERNEL}, which the constants need")
    return statistics.median(times)


def clocked_us(values, clock_mhz):
    """A pass's duration at another SM clock."""
    if not values["sm_clock_mhz"] or not clock_mhz:
        return values["gpu_time_us"]
    return values["gpu_time_us"] * values["sm_clock_mhz"] / clock_mhz


class Processes:
    """Untraced runs, each of a process of its own, and the traced one if there is any."""

    def __init__(self, reports, traced):
        """reports: {path: report}."""
        self.reports, self.traced, self.times = reports, traced, collections.defaultdict(list)
        self.report = next(iter(reports.values()))
        self.overhead = statistics.median(report["device"]["event_overhead_us"] for report in reports.values())
        for report, mode in itertools.product(reports.values(), MODES):
            for row in timed_rows(report, mode):
                self.times[row["key"], row["variant"], mode].append(row["time"][mode])

    def of(self, result, mode, key):
        """[every untraced process's]; without those that do not know it."""
        times = self.times[result["key"], result["variant"], mode]
        return [time[key] for time in times if time[key] is not None]

    def all_medians(self, result, mode):
        """Tracing slows back-to-back launches; a cold one only by what the event pair shows."""
        medians = self.of(result, mode, "median_us")
        row = self.traced_row(result, mode) if mode == "cold" else None
        shift = self.overhead - self.traced.report["device"]["event_overhead_us"] if row else 0
        return medians + ([row["time"][mode]["median_us"] + shift] if row else [])

    def traced_row(self, result, mode):
        rows = timed_rows(self.traced.report, mode) if self.traced else []
        return next((row for row in rows if (row["key"], row["variant"]) == (result["key"], result["variant"])), None)


def sums_of(passes, value):
    """Of every launch of a plan the sum of a pass's value over the passes."""
    return [sum(value(kernel.values) for kernel in launch) for launch in zip(*passes)]


class NcuRow:
    """A row against ncu's launches of it."""

    def __init__(self, result, mode, passes, processes, empty, node_us):
        self.result, self.mode, self.passes, self.processes, self.empty = result, mode, passes, processes, empty
        self.medians, clocks = processes.of(result, mode, "median_us"), processes.of(result, mode, "sm_clock_mhz")
        self.median, clock = statistics.median(self.medians), statistics.median(clocks) if clocks else None
        self.own = sums_of(passes, lambda values: values["gpu_time_us"])
        times = [statistics.median(sums_of(passes, lambda values: clocked_us(values, clock))),
                 statistics.median(self.own)]
        self.theirs, self.other_clock = times if mode == "hot" else times[::-1]
        self.constant = len(passes) * (node_us - empty) if mode == "hot" else processes.overhead - empty

    def judged(self):
        return Judged(self.result, self.median, self.constant, self.theirs, self.reasons())

    def reasons(self):
        yield from self.reasons_of_trace()
        if self.mode == "cold":
            yield "clock", *sorted((0.0, self.other_clock - self.theirs))
            later = sum(profiler.over_launches(one, statistics.median)["gpu_time_us"] for one in self.passes[1:])
            if later:
                yield "flushed_between_passes", -later, 0.0
        medians = self.processes.all_medians(self.result, self.mode)
        yield "processes", self.median - max(medians), self.median - min(medians)
        middle = statistics.median(self.own)
        yield "launches", min(self.own) - middle, max(self.own) - middle

    def reasons_of_trace(self):
        traced, row = self.processes.traced, self.processes.traced_row(self.result, self.mode)
        seen = traced.of(self.result, self.mode) if row else None
        if not seen:
            return
        passes = len(self.passes)
        if self.mode == "hot" and seen.gap_us > TOLERANCE_US:
            yield "gap", 0.0, passes * seen.gap_us
        if judged_by_nsys(row, self.mode, traced).verdict == "right":
            tools = (seen.busy_us - passes * traced.empty_us) - (self.theirs - passes * self.empty)
            yield "other_launches", *sorted((0.0, tools))
        yield "launches", -seen.spread_us, seen.spread_us


def complete(passes):
    return passes is not None and all(k.values["gpu_time_us"] is not None for kernels in passes for k in kernels)


def ncu_table(processes, capture, mode, empty, node_us):
    seen, judged = {(row["key"], row["variant"]): passes for row, passes in capture.rows}, []
    for result in timed_rows(processes.report, mode):
        passes = seen.get((result["key"], result["variant"]))
        judged.append(NcuRow(result, mode, passes, processes, empty, node_us).judged() if complete(passes)
                      else Judged(result, result["time"][mode]["median_us"]))
    note = {"hot": "The tool's time is gpu__time_duration with the caches left alone, at attnbench's SM clock; the "
                   f"constant is, for every pass, the {node_us:g} us of a graph's node less the {empty:.2f} us that "
                   "ncu says an empty kernel lasts.",
            "cold": "The tool's time is gpu__time_duration with the caches flushed before every pass, at ncu's clock; "
                    f"the constant is the {processes.overhead:.2f} us of an event pair around an empty kernel less "
                    f"the {empty:.2f} us that ncu says it lasts."}[mode]
    return table_of(f"{mode}, ncu", judged, note)


def ncu_tables(args, processes, folder):
    empty, tables = ncu_empty_us(args, folder), []
    for mode in MODES:
        capture = profiler.capture_ncu(args, folder, ("gpu_time_us", "sm_clock_mhz"), False, mode)
        for path, report in processes.reports.items():
            reports.require_comparable(report, path, capture.report)
        tables.append(ncu_table(processes, capture, mode, empty, args.node_us))
    return tables


# ---- program ----------------------------------------------------------------------------------------------------

def summary_row(table):
    judged = [one for one in table["judged"] if one.difference is not None]
    right = sum(one.verdict == "right" for one in judged)
    explained = sum(one.reason is not None for one in judged)
    sizes = [abs(one.difference) for one in judged if one.verdict == "right"]
    return [table["title"], len(table["judged"]), right, explained, len(table["judged"]) - right - explained,
            round(statistics.median(sizes), 4) if sizes else None]


def explained_table(tables):
    """Every row that is outside of the bar for a reason, with the reason's bounds of the difference."""
    rows = []
    for table in tables:
        for one in table["judged"]:
            if one.reason:
                name, low, high = one.reason
                percent = 100 * one.difference / one.theirs
                rows.append([table["title"], *name_of(one.result), round(one.difference, 4), round(percent, 2), name,
                             round(low, 4), round(high, 4)])
    used = {row[5] for row in rows}
    return {"title": "Rows outside of the bar, and why",
            "columns": ["mode, tool", "case", "variant", "difference us", "difference %", "reason", "at least us",
                        "at most us"],
            "rows": rows, "notes": [f"`{name}`: {text}." for name, text in REASONS.items() if name in used]}


def document_of(args, report, sources, tables):
    device, command = report["device"], f"scripts/proof/timer_truth.py --sweep {args.sweep}"
    machine = f"{device['name']} (driver {device['driver']}, CUDA {report['tool']['cuda']})"
    about = (f"attnbench's medians on sweep `{report['sweep']['name']}` against {' and '.join(sources)} on {machine}, "
             "clocks left alone. Against nsys the medians are of the traced run and the launches the same; against ncu "
             "they are of untraced processes, the median over them. A row is right within 1 % or 0.5 us; one that is "
             "not is explained only by a reason whose own bounds, from the same runs, hold the difference. "
             f"`{command}`")
    explained = explained_table(tables)
    shown = [{key: table[key] for key in table if key != "judged"} for table in tables]
    return {"schema": "attnbench.table/1", "title": "The timer against nsys and ncu", "about": about,
            "columns": ["mode, tool", "rows", "within 1 % or 0.5 us", "explained", "not", "median difference us"],
            "rows": [summary_row(table) for table in tables],
            "tables": ([explained] if explained["rows"] else []) + shown}


def check_tools(parser, args):
    if args.processes < 1:
        parser.error(f"--processes: {args.processes} is not 1 or more")
    args.tools = args.tools.split(",")
    for tool in args.tools:
        if tool not in ("nsys", "ncu"):
            parser.error(f'--tools: "{tool}" is not nsys or ncu')


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    profiler.add_options(parser)
    parser.add_argument("--tools", default="nsys,ncu", metavar="A,B", help="nsys, ncu or both (default)")
    parser.add_argument("--report", metavar="FILE", action="append",
                        help="report or journal whose medians are compared with ncu's, one process each; repeat for more (default: "
                             "measured now)")
    parser.add_argument("--processes", type=int, default=PROCESSES, metavar="N",
                        help=f"untraced runs without --report (default: {PROCESSES})")
    parser.add_argument("--node-us", type=float, default=0.53, metavar="US",
                        help="what one more empty node costs in a chain of a graph; attnbench --selftest measures it "
                             "(default: 0.53, an H200's)")
    parser.add_argument("--json", metavar="FILE", help="write the tables here; - is stdout")
    parser.set_defaults(launches=NCU_LAUNCHES)
    args = parser.parse_args()
    profiler.check_options(parser, args)
    check_tools(parser, args)
    return args


def check_before(args):
    """What can be known to be missing before anything takes time."""
    if args.json is not None:
        files.check_output(args.json)
    for tool in args.tools:
        profiler.tool_path(tool)
    program.require_program(args.attnbench)
    for path in args.report or []:
        reports.read(path, args.attnbench)


def untraced(args, folder):
    """{path: report}"""
    if args.report:
        return {path: reports.read(path, args.attnbench) for path in args.report}
    return {f"run {i + 1}": reports.read(profiler.measure(args, folder), args.attnbench) for i in range(args.processes)}


def main():
    args = parse_arguments()
    check_before(args)
    with tempfile.TemporaryDirectory(prefix="attnbench-timer.") as name:
        folder, tables, sources, traced = pathlib.Path(name), [], [], None
        if "nsys" in args.tools:
            report, database = trace(args, folder)
            traced = Trace(report, *read_trace(database))
            tables += nsys_tables(traced)
            sources.append(profiler.version_of("nsys"))
        if "ncu" in args.tools:
            processes = Processes(untraced(args, folder), traced)
            report = processes.report
            tables += ncu_tables(args, processes, folder)
            sources.append(profiler.version_of("ncu"))
    document = document_of(args, report, sources, tables)
    if args.json:
        files.write_whole(args.json, files.json_text(document))
    if args.json != "-":
        files.write_whole("-", section(document))
    rows, wrong = sum(row[1] for row in document["rows"]), sum(row[4] for row in document["rows"])
    return 1 if wrong else 0 if rows else program.COVERAGE


if __name__ == "__main__":
    program.run_main(main)
