"""results/<gpu>/README.md and the pages that it links to, from committed measurements.

Pure: the same measurements give the same bytes. Every figure is a report's; what is typed is prose and, in ladder.json,
origins.json and goal_list.json, predictions, claims and goals.
"""
import collections
import statistics

import bounds
import goals
import kinds
import ladder
import problems
import pytorch
import rivals
import steady
from measured import own_best

from lib.program import INPUT, Failure
from lib.reports import REFERENCE, case_label, hot_us, is_vendors, roof_share, tflops
from lib.tables import microseconds, ratio, significant, table, table_blocks

GENERATED = "<!-- Made by scripts/results/update_results.py from the measurements beside it; edits are overwritten. -->"
TABLES = ("timer", "counters", "kernels", "gate", "builds")  # made by scripts/proof/
FASTEST_SWEEPS = ("v3", "mission")
CLASS_SWEEPS = ("prefill", "odd", "short", "decode")  # too many cases for a row each
SCALING_SWEEP = "v3"


Written = collections.namedtuple("Written", "predictions claims goals")  # what is written by hand; None where there is none


def joined(blocks):
    return "\n\n".join(blocks) + "\n"


# ---- sections of README.md --------------------------------------------------------------------------------------

def interval(row):
    against = (row["speedup_vs"] or {}).get("hot")
    return f"{against['ratio']:.3f} ({against['ci95_low']:.3f} to {against['ci95_high']:.3f})" if against else "-"


ASIDE = " †"
ASIDE_NOTE = ("† The quotient of the two times lies outside of this interval: each was taken at the clock that the GPU had then, the ratio "
              "in turns, both sides at one clock.")


def aside(row, reference):
    """Does the quotient of the two hot times contradict the interval of the ratio beside them?"""
    against = (row["speedup_vs"] or {}).get("hot")
    if not against or not reference or not reference["time"]:
        return False
    return not against["ci95_low"] <= hot_us(reference) / hot_us(row) <= against["ci95_high"]


def named(name, row):
    return f"`{name}` ({row['picked']})" if row.get("picked") else f"`{name}`"


def kernels_alone(row):
    """The ratio without the memsets of the reference's launch; None where it was not measured."""
    return ((row["speedup_vs"] or {}).get("hot") or {}).get("kernels_alone")


def fastest_row(sweep, rows, pick=own_best, with_kernels=False, more=None):
    name, best = pick(rows)
    reference = rows.get(REFERENCE)
    alone = [f"{kernels_alone(best):.3f}" if kernels_alone(best) else "-"] if with_kernels else []
    return [sweep, case_label(best["key"]), named(name, best), microseconds(hot_us(best)), significant(tflops(best)), roof_share(best),
            microseconds(hot_us(reference)) if reference and reference["time"] else "-",
            interval(best) + (ASIDE if aside(best, reference) else ""), *alone, *(more(sweep, rows, best) if more else [])]


def fastest_table(cases, pick=own_best, title="fastest here", more=None, more_columns=()):
    """Of (sweep, {variant: row}) of cases: one kernel here, the fastest or the one that `pick` gives, beside cuDNN. `more` gives the
    cells of more columns."""
    columns = ["sweep", "B,H,S,D", title, "hot us", "TFLOP/s", "of peak (at its clock)", "cuDNN us", "speedup vs cuDNN (95 % within one process)"]
    measured = [(sweep, rows) for sweep, rows in cases if own_best(rows)]
    with_kernels = any(kernels_alone(pick(rows)[1]) for _, rows in measured)
    if with_kernels:  # of rows below 30 us
        columns.append("kernels alone")
    columns += more_columns
    return table(columns, [fastest_row(sweep, rows, pick, with_kernels, more) for sweep, rows in measured], columns[3:])


def note_of(made):
    """What the mark in a table means; empty when no row has it."""
    return ASIDE_NOTE if ASIDE in made else ""


def fastest_blocks(reports):
    cases = [(sweep, rows) for sweep in FASTEST_SWEEPS for rows in reports.cases(sweep).values() if own_best(rows)]
    if not cases:
        return []
    made = fastest_table(cases)
    opening = ("Hot medians in microseconds; the speedup is cuDNN's time over the kernel's, the two timed in turns (above 1 the kernel "
               "here is faster).")
    return ["## The fastest kernel here beside cuDNN", f"{opening} {note_of(made)}".strip(), made]


def class_of(shape):
    """What cases of a sweep are alike in: their dimension, and what else sets them apart."""
    kind = "grouped heads" if shape["Hq"] != shape["Hkv"] else shape["dtype"]
    return shape["D"], kind


def class_row(sweep, name, rows):
    """rows: the fastest of each case of a class, with its ratio to the reference."""
    ratios = sorted((row["speedup_vs"]["hot"]["ratio"], case_label(row["key"])) for row in rows)
    mean = statistics.geometric_mean(value for value, _ in ratios)
    return [sweep, f"D={name[0]} {name[1]}", str(len(ratios)), f"{mean:.3f}", f"{ratios[0][0]:.3f}", ratios[0][1],
            significant(max(tflops(row) for row in rows))]


def class_blocks(reports):
    """The fastest kernel here against the reference, class by class of the larger sweeps."""
    classes = {}
    for sweep in CLASS_SWEEPS:
        for rows in reports.cases(sweep).values():
            best = own_best(rows)
            if best and (best[1]["speedup_vs"] or {}).get("hot"):
                classes.setdefault((sweep, class_of(best[1]["shape"])), []).append(best[1])
    if not classes:
        return []
    columns = ["sweep", "class", "cases", "geometric mean", "least", "of", "most TFLOP/s"]
    return ["### By class, in the larger sweeps", "The fastest kernel's speedup over cuDNN, as above; the journals have every case.",
            table(columns, [class_row(sweep, name, rows) for (sweep, name), rows in classes.items()],
                  ("cases", "geometric mean", "least", "most TFLOP/s"))]


def plot_blocks(plots):
    return ["## Plots", *(f"![{title}](plots/{name}.svg)\n\n{caption}" for name, title, caption in plots)] if plots else []


def scaling_row(variant, rows):
    """Where the grid fills the GPU, and what a (batch, head) pair costs before and after."""
    first, last = rows[0]["scaling"], rows[-1]["scaling"]
    price = [microseconds(s["us_per_bh"]["hot"]) for s in (first, last)]
    return [f"`{variant}`", f"{first['full_bh']:.0f}" if first["full_bh"] else "-", *price, f"{last['work_ratio']:.0f}x",
            ratio(last["wave_ratio"]) if last["wave_ratio"] and not is_vendors(rows[-1]) else "-", ratio(last["time_ratio"]["hot"]),
            ", ".join(dict.fromkeys(f"`{row['scaling']['verdict']}`" for row in rows[1:]))]


def scaling_blocks(reports):
    """Each variant's growth with B*H over one sweep, smallest B*H first."""
    variants = {}
    for row in reports.rows(SCALING_SWEEP):
        if row["time"] and row["scaling"] and not row.get("picked"):
            variants.setdefault(row["variant"], []).append(row)
    grown = {v: sorted(rows, key=lambda row: row["scaling"]["bh_ratio"]) for v, rows in variants.items() if len(rows) > 1}
    if not grown:
        return []
    shapes = [row["shape"]["B"] * row["shape"]["Hq"] for row in next(iter(grown.values()))]
    columns = ["variant", "full at B*H", f"us per (b, h) at B*H = {shapes[0]}", f"at {shapes[-1]}", "work", "expected by waves", "measured",
               "verdicts"]
    return [f"## Scaling over B*H, `{SCALING_SWEEP}`",
            f"The B*H at which a variant's grid fills one wave, the price of one (batch, head) pair, and growth from B*H = {shapes[0]} to "
            f"{shapes[-1]} (hot). The verdicts are explained in [results/reading.md](../reading.md#scaling-over-bh).",
            table(columns, [scaling_row(v, rows) for v, rows in grown.items()], columns[1:-1])]


def figure(reports, text, where):
    """A time, from "sweep case variant", or the quotient of two of them with a slash between."""
    times = [hot_us(reports.cell(cell, where)) for cell in text.split(" / ")]
    return f"{microseconds(times[0])} us" if len(times) == 1 else ratio(times[0] / times[1])


def origin_row(reports, row, where):
    try:
        figures = [figure(reports, text, where) for text in row["figures"]]
        return [row["report"], row["claim"], row["measured"].format(*figures), row["verdict"]]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise Failure(INPUT, f'{where}: a row needs "report", "claim", "verdict", "figures", and "measured" with a {{}} for each '
                             "figure") from error


def origin_blocks(reports, document, where):
    """What became of the claims that attnbench grew out of; the figures are filled in, the rest is written by hand."""
    if document is None:
        return []
    if not isinstance(document, dict) or document.get("schema") != "attnbench.origins/1" or not isinstance(document.get("rows"), list):
        raise Failure(INPUT, f'{where}: not a list of claims; it needs "schema": "attnbench.origins/1" and "rows"')
    rows = [origin_row(reports, row, where) for row in document["rows"]]
    return ["## The reports that it grew out of", document["about"], table(["report", "claim", "measured here", "verdict"], rows, [])]


def sweep_row(name, report):
    run, tool, device = report["run"], report["tool"], report["device"]
    cases = len({row["key"] for row in report["results"]})
    return [f"[`{name}`]({name}.journal)", str(run["cells"]), str(cases), report["sweep"]["about"] or "-", f"{run['wall_s']:.1f}",
            f"{run['overhead_s']:.2f}", tool["git_commit"], device["uuid"][:12], f"{device['event_overhead_us']:.2f}"]


def sweep_rows(reports):
    """One of each sweep; what several journals of one differ in is listed."""
    by_sweep = {}
    for name, report in reports.sweeps.items():
        by_sweep.setdefault(report["sweep"]["name"], []).append(sweep_row(name, report))
    return [[", ".join(dict.fromkeys(cells)) for cells in zip(*rows)] for rows in by_sweep.values()]


def sweep_blocks(reports):
    columns = ["journal", "cells", "cases", "what it is about", "wall s", "host s", "commit", "card", "event us"]
    return ["## Every sweep",
            "One run each. `./attnbench report results/<gpu>/<sweep>.journal` prints every row with cold and hot times, geometry and "
            "findings; `--json` and `--csv` write them. Host s is the part of the run that was not device work. Event us is what two "
            "events around an empty kernel took, which is in every cold time. Sweeps were measured on several cards and hosts of one "
            "kind; hosts differ in what a launch costs, so compare kernels of a few microseconds within one sweep.",
            table(columns, sweep_rows(reports),
                  ["cells", "cases", "wall s", "host s", "event us"])]


# ---- the pages --------------------------------------------------------------------------------------------------

def device_text(reports):
    device, tool = reports.device, next(iter(reports.sweeps.values()))["tool"]
    return (f"{device['name']}, compute capability {device['cc_major']}.{device['cc_minor']}, {device['sms']} SMs at up to "
            f"{device['sm_clock_max_mhz']:.0f} MHz, {device['dram_gb_per_s']:.0f} GB/s, driver {device['driver']}, CUDA {tool['cuda']}")


def selftest_blocks(data):
    """`attnbench --selftest --json`."""
    def bound(line):
        low, high = ("-" if line[end] is None else significant(line[end]) for end in ("low", "high"))
        return f"{low} to {high}"
    rows = [[line["name"], line["unit"] or "-", "-" if line["value"] is None else significant(line["value"]), bound(line), line["verdict"],
             line["about"]] for line in data["lines"]]
    return ["## The timer's self-test",
            f"`attnbench --selftest` on {data['device']['name']}: the timer measures launches whose duration is known. `cold` and `hot` "
            "lines are its error in microseconds.",
            table(["check", "unit", "value", "bounds", "verdict", "about"], rows, ["value"])]


def table_page(reports, name, folder):
    """(title, blocks) of a page from a table of scripts/proof/; None when it was not measured."""
    if name not in reports.tables:
        return None
    document = reports.tables[name]
    blocks = table_blocks(document, f"{folder}/{name}.json")
    return document["title"], blocks + (selftest_blocks(reports.selftest) if name == "timer" and reports.selftest else [])


def linked_pages(reports, written, folder):
    """{file: (title, blocks)} of every page beside README.md."""
    pages = {}
    if written.goals:
        pages["goals.md"] = "What was aimed at, and what was reached", goals.blocks(reports, written.goals, f"{folder}/goal_list.json")
    if written.predictions:
        pages["ladder.md"] = "The ladder: every kernel's gain as predicted and as measured", ladder.blocks(reports, written.predictions)
    if kinds.SWEEP in reports.sweeps:
        pages["kinds.md"] = "Kernels of every kind in one table", kinds.blocks(reports)
    pages["bounds.md"] = "What right kernels need of the check's bounds", bounds.blocks(reports)
    beside = rivals.blocks(reports)
    if beside:
        pages["rivals.md"] = "Beside cuDNN, FlashAttention-3 and PyTorch's flash", beside
    kept = steady.blocks(reports)
    if kept:
        pages["steady.md"] = "Burst and steady: what a kernel keeps at the power limit", kept
    more = problems.blocks(reports)
    if more:
        pages["problems.md"] = "Beyond dense attention: windows, ragged batches, lists of blocks, e4m3, pages, latent attention", more
    if reports.torch:
        pages["pytorch.md"] = "PyTorch's attention beside the kernels here", pytorch.blocks(reports)
    for name in TABLES:
        made = table_page(reports, name, folder)
        if made:
            pages[f"{name}.md"] = made
    return pages


TIMES = ("Hot is the time per launch inside a CUDA graph of launches back to back: it includes the gap between two launches of the graph, "
         "which is no kernel's work and weighs most below 30 us. Cold is one launch after the L2 cache was flushed: it holds what the two "
         "events around the launch take (`event us` below). Every row is of one process; the intervals of its times and ratios hold within "
         "that process, and the next one may lie outside.")


def browser_text(reports, folder):
    """How to open the journals of this folder as pages."""
    one = "v3" if "v3" in reports.sweeps else sorted(reports.sweeps)[0]
    text = ("In a browser, with every row, findings and figures that answer to clicks: "
            f"`attnbench report results/{folder}/{one}.journal --html {one}.html`, and so of any journal here")
    both = sorted(set(reports.sweeps) & set(reports.torch))
    if not both:
        return f"{text}."
    two = "n6" if "n6" in both else both[0]
    return (f"{text}; of two side by side: `attnbench report results/{folder}/{two}.journal "
            f"results/{folder}/torch_{two}.json --html {two}.html`.")


def front(reports, linked, plots, origins, folder):
    links = "\n".join(f"- [{title}]({file})" for file, (title, _) in linked.items())
    opening = [f"# {reports.device['name']}", GENERATED,
               f"{device_text(reports)}; clocks were not locked. `<sweep>.journal` is what a run measured, `torch_<sweep>.json` what "
               "`scripts/sdpa_baseline.py` measured of PyTorch ([formats](../format.md)). `scripts/results/update_results.py` makes "
               "these pages and the plots from them; no figure is typed by hand.",
               TIMES, browser_text(reports, folder), *([links] if links else [])]
    return joined([*opening, *plot_blocks(plots), *fastest_blocks(reports), *class_blocks(reports), *scaling_blocks(reports),
                   *origin_blocks(reports, origins, f"{folder}/origins.json"), *sweep_blocks(reports)])


def pages(folder, reports, written, plots):
    """{file: text} of every page of results/<folder>. `plots`: (name, title, caption) of each picture."""
    linked = linked_pages(reports, written, folder)
    back = f"[{reports.device['name']}](README.md)"
    return {"README.md": front(reports, linked, plots, written.claims, folder),
            **{file: joined([f"# {title}", GENERATED, back, *blocks]) for file, (title, blocks) in linked.items()}}
