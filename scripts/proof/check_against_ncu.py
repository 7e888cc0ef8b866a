#!/usr/bin/env python3
"""Does Nsight Compute count what attnbench says? Runs a sweep's cells under ncu, caches flushed before every kernel,
and compares registers, waves and occupancy of every pass, and DRAM bytes, L2 requests, L2 hit rate and tensor-pipe
use of every row. Grid and block are compared launch by launch before anything else: a difference there is an error.

  scripts/proof/check_against_ncu.py --sweep shapes/v3.json [--report results/h200/v3.journal] --json results/h200/counters.json

attnbench's figures come from --report, or from a report measured now. Quantities within 10 % of each other
(percentages: or half a point) agree. A disagreement is explained only by a rule below whose condition is true of the
row *and* whose own, corrected bounds contain ncu's value; anything else is unexplained. The tables go to stdout as
Markdown and to --json (schema attnbench.table/1, which scripts/results/update_results.py puts on the results page).

Exit code: 0 nothing is unexplained; 1 something is; 4 nothing could be compared, or the capture does not hold exactly
the cells' kernels; else as scripts/profile_sweep.py.
"""
import argparse
import collections
import math
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import files, profiler, program, reports
from lib.metrics import SECTOR_BYTES
from lib.program import Failure
from lib.reports import case_label
from lib.tables import section

TOLERANCE = 0.10
POINTS = 0.5  # percentages closer than that agree, however small they are
ELEMENT_BYTES = {"f16": 2, "bf16": 2, "f32": 4}
WARP = 32
FIXED_DRAM_BYTES = 256 * 1024
RAMP_US = 2.0
MMA_SYNC = 1.6
NEAR_US, NEAR_RATIO = 2.0, 0.15
REGISTERS_MIN = 16
WARP_GROUP = 4  # warps
KEYS = ("gpu_time_us", "sm_cycles", "dram_read_bytes", "dram_write_bytes", "l2_bytes", "l2_hit_ratio",
        "tensor_pipe_ratio", "achieved_occupancy_ratio", "local_bytes", "registers", "waves", "occupancy_ratio",
        "l1_hit_ratio", "tensor_flops", "global_sectors", "crossbar_bytes", "global_load_store_sectors",
        "copy_excess_bytes")

RULES = {
    "write_back": "L2 keeps what a kernel writes until it needs the line, so ncu sees at most the written bytes "
                  "reach DRAM before the kernel ends; attnbench counts O written once",
    "other_traffic": "the DRAM counters are the whole GPU's: code, arguments and page tables come on top, up to "
                     f"{FIXED_DRAM_BYTES // 1024} KiB, which shows in small cells only",
    "flushed_between_passes": "ncu flushes the caches before every kernel, attnbench's cold launch only before the "
                              "first, so under ncu a later pass reads the workspace from DRAM",
    "upper_bound": "K and V in flight exceed L2, and the model says `up to`: some rereads still hit",
    "l1_hits": "blocks of one SM, and warps of one block, find each other's data in L1; the model sends every "
               "request of a block to L2",
    "spills": "local memory goes through L1 and L2 too and is not in the model, which counts tensors and workspace",
    "two_l2_halves": "an SM reads through its own half of L2 (sm_80, sm_90): a line that both halves' SMs read "
                     "misses twice, once in each",
    "fewer_requests": "the model's misses over the requests that ncu counted; the requests are a row of their own",
    "joined_on_the_way": "requests of neighbouring SMs for the same data are joined between L1 and L2 (sm_90): what "
                         "the SMs' side of the crossbar carried is what attnbench says, and L2 saw that much less",
    "partial_sectors": "an access that needs part of a 32-byte sector costs all of it (rows written an element at a "
                       "time): up to the sectors that the instructions' addresses touch",
    "split_copies": "cp.async to rows of shared memory that are not aligned to 32 bytes fetches a sector for each part "
                    "of it: up to the bytes that came for such copies beyond those asked for",
    "least_registers": f"the hardware gives a thread at least {REGISTERS_MIN}, and ncu says what it gave",
    "warps_end_early": "warps whose work is done end before their block: with fewer columns than threads (one_query) "
                       "those beyond the columns",
    "producer_group": "a kernel may have a warp group for loads of which one warp works and the others end at once: "
                      f"at least the estimate without {WARP_GROUP - 1} warps of a block",
    "replaced_one_by_one": "blocks of several waves are replaced one by one, not wave by wave, and an SM's last block "
                           "may run alone: between that (at least: one block in the last of the waves) and the limit",
    "unequal_blocks": "the estimate takes blocks for equally long; causal, ragged or persistent ones are not: "
                      "between one block on an SM and the limit",
    "ramp": f"blocks start and end over about {RAMP_US:g} us, in which an SM holds fewer: below "
            f"{RAMP_US / TOLERANCE:g} us that is more than 10 %",
    "executed_flops": "attnbench counts the products that the result needs, the pipe what was executed: whole "
                      "tiles, masked and padded ones too; taken over ncu's cycles instead of the cold time",
    "mma_sync": f"mma.sync (sm_90) needs up to {MMA_SYNC} times the pipe cycles of wgmma for the same products (2720"
                " of 4096 FLOP/clk/SM at best), and the roof is wgmma's",
}


class Comparison:
    """One quantity of a row: what the two say, and which rules may explain a difference: (rule, low, high) of ncu's."""

    def __init__(self, quantity, unit, ours, theirs, bounds=(), where=""):
        self.quantity, self.unit, self.ours, self.theirs, self.where = quantity, unit, ours, theirs, where
        self.rule = None
        self.verdict = "agrees" if agrees(ours, theirs, unit) else self.explain(bounds)

    def explain(self, bounds):
        for rule, low, high in bounds:
            if low * (1 - TOLERANCE) <= self.theirs <= high * (1 + TOLERANCE):
                self.rule = rule
                return "explained"
        return "unexplained"

    def ratio(self):
        return self.ours / self.theirs if self.theirs else (1.0 if not self.ours else None)


def agrees(ours, theirs, unit):
    return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=POINTS if unit == "%" else 1e-9)


def known(value, *needed):
    return all(item is not None for item in (value, *needed))


# ---- the quantities of a pass -----------------------------------------------------------------------------------

def expected_occupancy(launch, device):
    """Mean share of an SM's warp slots in use while it has any block, when blocks are equally long and go wave by
    wave."""
    warps = math.ceil(math.prod(launch["block"]) / WARP)
    full = math.floor(launch["waves"])
    tail = launch["blocks"] - full * device["sms"] * launch["resident_blocks"]
    busy_sm_waves = full * device["sms"] + min(device["sms"], max(tail, 0))
    return launch["blocks"] * warps / busy_sm_waves / (device["threads_per_sm"] / WARP)


def warps_end_early(row, launch, estimate):
    """Of the plan's geometry: which warps have nothing to do to the end."""
    warps = math.ceil(math.prod(launch["block"]) / WARP)
    has_group = not row["traffic"] or launch.get("producer_threads", 0) >= WARP_GROUP * WARP
    if has_group and warps % WARP_GROUP == 0 and warps > WARP_GROUP:
        yield "producer_group", estimate * (warps - WARP_GROUP + 1) / warps, estimate
    columns = math.ceil(row["shape"]["D"] / WARP)
    if row["plan"] and row["plan"]["tile_q"] == 1 and columns < warps:
        yield "warps_end_early", estimate * columns / warps, estimate


def occupancy_bounds(row, launch, device, values, estimate):
    limit = launch["occupancy_ratio"]
    one_block = math.ceil(math.prod(launch["block"]) / WARP) / (device["threads_per_sm"] / WARP)
    yield from warps_end_early(row, launch, estimate)
    shape, plan = row["shape"], row["plan"]
    tile = plan["tile_q"] if plan else 0
    tiles = shape["B"] * shape["Hq"] * math.ceil(shape["Sq"] / tile) * max(plan["splits"], 1) if tile else 0
    if launch["waves"] > 1:
        alone = (1 - 1 / launch["resident_blocks"]) / math.ceil(launch["waves"])
        yield "replaced_one_by_one", min(estimate, limit * (1 - alone)), max(estimate, limit)
    if shape["causal"] or (tile and shape["Sq"] % tile) or launch["blocks"] < tiles:
        yield "unequal_blocks", min(one_block, estimate), limit
    if known(values["gpu_time_us"]):
        yield "ramp", estimate * max(0.0, 1 - RAMP_US / values["gpu_time_us"]), estimate


def compare_pass(row, launch, device, values):
    where = launch["name"] if len(row["launches"]) > 1 else ""
    yield Comparison("grid", "blocks", launch["blocks"], values["blocks"], (), where)
    for quantity, unit, ours, key in (("registers", "per thread", launch["registers"], "registers"),
                                      ("waves", "", launch["waves"], "waves"),
                                      ("occupancy limit", "%", launch["occupancy_ratio"], "occupancy_ratio")):
        if known(values[key], ours):
            scale = 100 if unit == "%" else 1
            # ncu's table holds two decimals.
            theirs = ours if abs(values[key] - ours) <= 0.005 else values[key]
            few = quantity == "registers" and ours < REGISTERS_MIN
            bounds = [("least_registers", REGISTERS_MIN, REGISTERS_MIN)] if few else []
            yield Comparison(quantity, unit, ours * scale, theirs * scale, bounds, where)
    if known(values["achieved_occupancy_ratio"]) and launch["resident_blocks"]:
        estimate = expected_occupancy(launch, device)
        bounds = [(rule, 100 * low, 100 * high)
                  for rule, low, high in occupancy_bounds(row, launch, device, values, estimate)]
        seen = values["achieved_occupancy_ratio"]
        yield Comparison("achieved occupancy", "%", 100 * estimate, 100 * seen, bounds, where)


# ---- the quantities of a row ------------------------------------------------------------------------------------

class Row:
    """A row's bytes by tensor, in the model's terms, and ncu's sums over the passes."""

    def __init__(self, result, passes):
        self.result, self.passes, self.traffic = result, passes, result["traffic"]
        shape = result["shape"]
        self.written = shape["B"] * shape["Hq"] * shape["Sq"] * shape["D"] * ELEMENT_BYTES[shape["dtype"]]
        self.read = result["bytes"] - self.written
        self.workspace = result["plan"]["workspace_bytes"] if result["plan"] and len(passes) > 1 else 0

    def sum(self, key):
        values = [values[key] for values in self.passes]
        return None if None in values else sum(values)

    def weighted(self, key, weight):
        """Mean of a ratio over the passes, weighted by another counter of theirs."""
        pairs = [(values[key], values[weight]) for values in self.passes]
        if any(None in pair for pair in pairs) or not sum(w for _, w in pairs):
            return None
        return sum(value * w for value, w in pairs) / sum(w for _, w in pairs)


def compare_dram(row):
    spilled = not row.traffic["fits_l2"]
    read = row.traffic["dram_bytes"] - row.written
    low = row.read if spilled else read
    seen = row.sum("dram_read_bytes")
    if known(seen):
        bounds = [("upper_bound", low, read)] if spilled else []
        bounds += [("other_traffic", low, read + FIXED_DRAM_BYTES)]
        bounds += [("flushed_between_passes", low, read + row.workspace + FIXED_DRAM_BYTES)] if row.workspace else []
        yield Comparison("DRAM read", "MB", read * 1e-6, seen * 1e-6, scaled(bounds, 1e-6))
    seen = row.sum("dram_write_bytes")
    if known(seen):
        bounds = [("write_back", 0, row.written + row.workspace), ("other_traffic", 0, row.written + FIXED_DRAM_BYTES)]
        yield Comparison("DRAM written", "MB", row.written * 1e-6, seen * 1e-6, scaled(bounds, 1e-6))


def scaled(bounds, factor):
    return [(rule, low * factor, high * factor) for rule, low, high in bounds]


def request_bounds(row, asked, seen):
    """Why L2 sees more or less than the blocks' tiles ask for. What is joined on the way is missing whatever the
    reason; every byte comes once."""
    local, joined = row.sum("local_bytes") or 0, max(0, (row.sum("crossbar_bytes") or seen) - seen)
    touched = max(row.sum(key) or 0 for key in ("global_sectors", "global_load_store_sectors")) * SECTOR_BYTES
    copies = row.sum("copy_excess_bytes") or 0
    least = max(row.result["bytes"], asked - joined)
    if joined:
        yield "joined_on_the_way", asked - joined, asked - joined
    if touched > asked:
        yield "partial_sectors", least, touched
    if copies:
        yield "split_copies", least, asked + copies
    if (row.weighted("l1_hit_ratio", "l2_bytes") or 0) > 0.01:
        yield "l1_hits", row.result["bytes"], asked
    if local:
        yield "spills", row.result["bytes"], asked + local


def compare_l2(row, device):
    asked, seen = row.traffic["requested_bytes"], row.sum("l2_bytes")
    if not known(seen) or not seen:
        return
    yield Comparison("L2 requests", "MB", asked * 1e-6, seen * 1e-6, scaled(request_bounds(row, asked, seen), 1e-6))
    hit = row.weighted("l2_hit_ratio", "l2_bytes")
    if not known(hit):
        return
    missed = row.read + (0 if row.traffic["fits_l2"] else row.traffic["dram_bytes"] - row.result["bytes"])
    cold = missed + row.workspace
    halves = 2 if (device["cc_major"], device["cc_minor"]) in ((8, 0), (9, 0)) else 1

    def hits(misses, requests):
        return 100 * max(0.0, 1 - misses / requests)

    most = max(cold, missed)
    bounds = [("fewer_requests", hits(most, seen), hits(row.read, seen))]
    bounds += [("two_l2_halves", hits(halves * most, seen), hits(row.read, seen))] if halves == 2 else []
    yield Comparison("L2 hit rate", "%", hits(missed, asked), 100 * hit, bounds)


def is_near(ours, theirs, slack):
    return abs(ours - theirs) <= max(slack, NEAR_RATIO * theirs)


def launches_are_near(row, device):
    """Did the launch take as long under ncu, in time or, where another clock was running, in cycles, so that ncu's
    cycles may stand for the cold time's?"""
    cold, slack_us = row.result["time"]["cold"], NEAR_US * len(row.passes)
    us, mhz = cold["median_us"] - device["event_overhead_us"], cold["sm_clock_mhz"]
    return is_near(us, row.sum("gpu_time_us"), slack_us) or is_near(us * mhz, row.sum("sm_cycles"), slack_us * mhz)


def compare_tensor(row, device):
    result, time = row.result, (row.result["time"] or {}).get("cold")
    peak, clock = device["tensor_flop_per_clk_sm"], time and time["sm_clock_mhz"]
    seen = row.weighted("tensor_pipe_ratio", "sm_cycles")
    if not known(seen, clock) or not peak:
        return
    on_tensor = result["math"] in ("tensor", "wgmma")
    said = result["flops"] / (time["median_us"] * clock * peak * device["sms"]) if on_tensor else 0.0
    bounds, executed, cycles = [], row.sum("tensor_flops"), row.sum("sm_cycles")
    if on_tensor and known(cycles, row.sum("gpu_time_us")) and cycles and launches_are_near(row, device):
        full = cycles * peak * device["sms"]
        need, done = result["flops"] / full, (executed or result["flops"]) / full
        bounds = [("executed_flops", min(need, done), max(need, done))]
        if device["cc_major"] == 9 and row.traffic and result["math"] == "tensor":  # a vendor's kernel uses wgmma
            bounds.append(("mma_sync", done, MMA_SYNC * done))
    yield Comparison("tensor pipe", "%", 100 * said, 100 * seen, scaled(bounds, 100))


def compare_row(result, passes, device):
    for launch, values in zip(result["launches"], passes):
        yield from compare_pass(result, launch, device, values)
    row = Row(result, passes)
    if row.traffic:
        yield from compare_dram(row)
        yield from compare_l2(row, device)
    yield from compare_tensor(row, device)


# ---- a whole sweep ----------------------------------------------------------------------------------------------

def same_launches(a, b):
    return [(x["grid"], x["block"]) for x in a["launches"]] == [(x["grid"], x["block"]) for x in b["launches"]]


def compare_sweep(capture, report):
    """[(result, Comparison)] of every row that both hold."""
    device = report["device"]
    said = {(row["key"], row["variant"]): row for row in report["results"] if row["status"] == "ok"}
    out = []
    for profiled, kernels in capture.rows:
        result = said.get((profiled["key"], profiled["variant"]))
        if result is None or not kernels:
            continue
        if not same_launches(result, profiled):
            raise Failure(program.COVERAGE, f"{result['key']} {result['variant']}: --report has another grid than this "
                                            "build launches; measure the sweep again")
        passes = [{**profiler.over_launches(one), "blocks": math.prod(one[0].grid)} for one in kernels]
        out += [(result, comparison) for comparison in compare_row(result, passes, device)]
    if not out:
        raise Failure(program.COVERAGE, "nothing could be compared: no row has launches")
    return out


def summary_table(compared):
    counts = collections.OrderedDict()
    for _, one in compared:
        counts.setdefault(one.quantity, collections.Counter())[one.verdict] += 1
    rows = [[quantity, sum(count.values()), *(count[verdict] for verdict in ("agrees", "explained", "unexplained"))]
            for quantity, count in counts.items()]
    return {"title": "All comparisons", "columns": ["quantity", "compared", "within 10 %", "explained", "unexplained"],
            "rows": rows}


def distance(comparison):
    ratio = comparison.ratio()
    return math.inf if not ratio else abs(math.log(ratio))


def disagreement_table(compared):
    """Disagreements folded by quantity and rule, unexplained ones by variant too: how many, and the worst of them."""
    folded = collections.OrderedDict()
    for result, one in compared:
        if one.verdict != "agrees":
            key = (one.quantity, one.rule or "", "" if one.rule else (result["variant"], one.where))
            folded.setdefault(key, []).append((result, one))
    rows = []
    for (quantity, rule, _), items in folded.items():
        result, worst = max(items, key=lambda item: distance(item[1]))
        place = f"`{result['variant']}` {worst.where}".strip() + f" at {case_label(result['key'])}"
        rows.append([quantity + (f", {worst.unit}" if worst.unit else ""), len(items), place, worst.ours, worst.theirs,
                     worst.ratio(), rule or "**unexplained**"])
    rows.sort(key=lambda row: row[-1] != "**unexplained**")
    return {"title": "Differences over 10 %, the worst of each kind",
            "columns": ["quantity", "number", "worst", "attnbench", "ncu", "attnbench / ncu", "rule"], "rows": rows,
            "notes": [f"`{rule}`: {RULES[rule]}." for rule in RULES if any(row[-1] == rule for row in rows)]}


def document_of(capture, report, compared, command):
    unexplained = sum(one.verdict == "unexplained" for _, one in compared)
    device, tool = report["device"], report["tool"]
    machine = f"{device['name']} (driver {device['driver']}, CUDA {tool['cuda']})"
    about = (f"What attnbench says of sweep `{report['sweep']['name']}` against {capture.source}'s counters on "
             f"{machine}, caches flushed before every kernel, clocks left alone: {len(compared)} comparisons, "
             f"{unexplained} unexplained. A difference over 10 % is explained by a rule only when the rule's own bounds hold ncu's "
             f"value. `{command}`")
    raw = [{"key": result["key"], "variant": result["variant"], "pass": one.where or None, "quantity": one.quantity,
            "unit": one.unit or None, "attnbench": one.ours, "ncu": one.theirs, "ratio": one.ratio(),
            "verdict": one.verdict, "rule": one.rule} for result, one in compared]
    return {"schema": "attnbench.table/1", "title": "What attnbench says against ncu's counters", "about": about,
            "tables": [summary_table(compared), disagreement_table(compared)], "unexplained": unexplained,
            "comparisons": raw}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    profiler.add_options(parser)
    parser.add_argument("--report", metavar="FILE", help="report or journal to compare with the counters (default: measured now)")
    parser.add_argument("--json", metavar="FILE", help="write the tables and every comparison here; - is stdout")
    args = parser.parse_args()
    profiler.check_options(parser, args)
    if args.json is not None:
        files.check_output(args.json)
    profiler.tool_path("ncu")
    program.require_program(args.attnbench)
    if args.report:
        reports.read(args.report, args.attnbench)
    with tempfile.TemporaryDirectory(prefix="attnbench-ncu.") as name:
        folder = pathlib.Path(name)
        path = args.report or profiler.measure(args, folder)
        report = reports.read(path, args.attnbench)
        capture = profiler.capture_ncu(args, folder, KEYS, False, "cold")
    reports.require_comparable(report, path, capture.report)
    compared = compare_sweep(capture, report)
    command = f"scripts/proof/check_against_ncu.py --sweep {args.sweep}" + (f" --report {args.report}" if args.report else "")
    document = document_of(capture, report, compared, command)
    if args.json:
        files.write_whole(args.json, files.json_text(document))
    if args.json != "-":
        files.write_whole("-", section(document))
    return capture.exit_code or (1 if document["unexplained"] else 0)


if __name__ == "__main__":
    program.run_main(main)
