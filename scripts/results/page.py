"""The text of results/<gpu>/README.md and of the generated blocks in the top README, from committed reports.

Pure: the same reports give the same bytes. Every figure is a report's; what is typed is prose and, in ladder.json, the
predictions.
"""
import textwrap

from measured import torch_versions
from seeds import verdicts

from lib.files import read_json
from lib.program import INPUT, Failure
from lib.reports import REFERENCE, case_label, hot_us, is_vendors, limit, roof_share, shape_of_key, speedup, tflops
from lib.tables import microseconds, percent, ratio, significant, table, table_blocks

GENERATED = "<!-- Made by scripts/results/update_results.py from the reports beside it; edits are overwritten. -->"
TABLES = ("timer", "counters", "gate")
README_SWEEPS = ("v3", "mission")
TORCH_SWEEPS = ("mission", "it3", "n6", "prefill")
AS_PREDICTED = 0.02  # a gain this close to the predicted range, relative, is as predicted
SAME_LIBRARY = 0.05  # two programs that run one library's kernel should agree this well
LONG_SPEC = 20       # variants whose names are longer than this head rows, not columns


# ---- the ladder -------------------------------------------------------------------------------------------------

def is_prediction(value):
    """[low, high], {"us": time}, {"saves_us": difference} or null."""
    if isinstance(value, dict):
        return list(value) in (["us"], ["saves_us"]) and all(isinstance(one, (int, float)) for one in value.values())
    return value is None or (isinstance(value, list) and len(value) == 2 and all(isinstance(one, (int, float)) for one in value))


def check_rung(ladder, rung, where):
    missing = [key for key in ("variant", "what") if not isinstance(rung.get(key), str)]
    if missing:
        raise Failure(INPUT, f'{where}: a rung of {ladder["id"]} has no "{missing[0]}"')
    named = f"{where}: {ladder['id']}, rung {rung['variant']}"
    predicted = rung.get("predicted", [None] * len(ladder["cases"]))
    if len(predicted) != len(ladder["cases"]):
        raise Failure(INPUT, f"{named} has {len(predicted)} predictions for {len(ladder['cases'])} cases; give one each, or null")
    for value in predicted:
        if not is_prediction(value):
            raise Failure(INPUT, f'{named}: {value} is no prediction; write [low, high], {{"us": time}}, {{"saves_us": difference}} or null')
    if rung.get("over") is not None and rung["over"] not in [other.get("variant") for other in ladder["rungs"]]:
        raise Failure(INPUT, f"{named} is over {rung['over']}, which is no rung of this ladder")


def read_ladder(path):
    """ladder.json, which is written by hand."""
    document = read_json(path)
    if not isinstance(document, dict) or document.get("schema") != "attnbench.ladder/1" or not isinstance(document.get("ladders"), list):
        raise Failure(INPUT, f'{path}: not predictions; it needs "schema": "attnbench.ladder/1" and "ladders"')
    for ladder in document["ladders"]:
        missing = [key for key in ("id", "title", "about", "sources", "cases", "rungs") if key not in ladder]
        if missing:
            raise Failure(INPUT, f'{path}: ladder {ladder.get("id", "without id")} has no "{missing[0]}"')
        for rung in ladder["rungs"]:
            check_rung(ladder, rung, path)
    return document


def predicted_text(prediction):
    if prediction is None:
        return "-"
    if isinstance(prediction, dict):
        if "us" in prediction:
            return f"{significant(prediction['us'], 3)} us"
        saved = prediction["saves_us"]
        return f"{abs(saved)} us {'less' if saved >= 0 else 'more'}"
    low, high = prediction
    return f"{low:.2f}x" if low == high else f"{low:.2f}x to {high:.2f}x"


def placed(gain, low, high):
    """Where a gain lies against the predicted range."""
    if gain < low * (1 - AS_PREDICTED):
        return "below"
    return "above" if gain > high * (1 + AS_PREDICTED) else "as predicted"


def held_against(prediction, us, below_us):
    """The measured gain in words, against what was predicted."""
    words = [ratio(below_us / us)] if below_us else []
    if isinstance(prediction, dict) and "us" in prediction:
        words.append(f"{ratio(us / prediction['us'])} the predicted time")
    elif isinstance(prediction, dict) and below_us:
        words.append(f"{microseconds(abs(below_us - us))} us {'less' if us <= below_us else 'more'}")
    elif prediction and below_us:
        words.append(placed(below_us / us, *prediction))
    return ", ".join(words) or "-"


def rung_below(ladder, index):
    """The rung that `over` names or, without it, the one before; None when there is none."""
    rung = ladder["rungs"][index]
    if "over" in rung:
        return next((r for r in ladder["rungs"] if r["variant"] == rung["over"]), None)
    return ladder["rungs"][index - 1] if index else None


def rung_rows(reports, ladder, case_index):
    """[(rung, sweep, row, row below)] of one case; sweep and rows are None where nothing was measured."""
    key, out = ladder["cases"][case_index], []
    for index, rung in enumerate(ladder["rungs"]):
        sweep, row = reports.find(ladder["sources"], key, [rung["variant"], *rung.get("same", [])])
        below = rung_below(ladder, index)
        under = reports.find(ladder["sources"], key, [below["variant"], *below.get("same", [])])[1] if below else None
        out.append((rung, sweep, row, under))
    return out


def against_reference(reports, sweep, row):
    """cuDNN's time over the row's, or the fastest PyTorch backend's; "-" when neither was measured."""
    if speedup(row) or is_vendors(row):
        return ratio(speedup(row)) if speedup(row) else "-"
    best = reports.torch_best(sweep, row["key"])
    return f"{ratio(hot_us(best[1]) / hot_us(row))} ({best[0]})" if best else "-"


def rung_cells(reports, rung, sweep, row, below, prediction):
    name = f"`{rung['variant']}`"
    if row is None:
        return [name, predicted_text(prediction), "not measured", "-", "-", "-", "-", "-", "-"]
    return [name, predicted_text(prediction), held_against(prediction, hot_us(row), hot_us(below) if below else None),
            microseconds(hot_us(row)), significant(tflops(row)), roof_share(row), limit(row), against_reference(reports, sweep, row), sweep]


RUNG_COLUMNS = ["rung", "predicted", "measured gain", "hot us", "TFLOP/s", "of roof", "limit", "vs reference", "run"]
RUNG_RIGHT = ["hot us", "TFLOP/s", "of roof", "vs reference"]


def case_rows(reports, ladder, case_index):
    rows = rung_rows(reports, ladder, case_index)
    if not any(row for _, _, row, _ in rows):
        return None
    return [rung_cells(reports, rung, sweep, row, below, rung["predicted"][case_index] if "predicted" in rung else None)
            for rung, sweep, row, below in rows]


def ladder_tables(reports, ladder):
    """One table per case, or one for all cases of a short ladder."""
    labels = [case_label(shape_of_key(key)) for key in ladder["cases"]]
    cases = [(label, case_rows(reports, ladder, i)) for i, label in enumerate(labels)]
    measured = [(label, rows) for label, rows in cases if rows]
    unmeasured = [label for label, rows in cases if not rows]
    if len(ladder["rungs"]) <= 3:
        blocks = [table(["B,H,S,D", *RUNG_COLUMNS], [[label, *row] for label, rows in measured for row in rows], RUNG_RIGHT)]
    else:
        blocks = [block for label, rows in measured for block in (f"**{label}**", table(RUNG_COLUMNS, rows, RUNG_RIGHT))]
    if unmeasured:
        blocks.append(f"No report has these cases yet: {'; '.join(unmeasured)}.")
    return blocks


def ladder_section(reports, ladder):
    reasons = []
    for index, rung in enumerate(ladder["rungs"]):
        below = rung_below(ladder, index)
        over = f" (over `{below['variant']}`)" if below and "over" in rung else ""
        why = f" Prediction: {rung['why']}." if "why" in rung else ""
        reasons.append(f"- `{rung['variant']}`{over}: {rung['what']}.{why}")
    return [f"### {ladder['id']}: {ladder['title']}", ladder["about"], "\n".join(reasons), *ladder_tables(reports, ladder)]


def ladder_blocks(reports, document):
    if not document:
        return []
    intro = ("Each rung, its gain over the rung below as predicted and as measured (hot medians; within "
             f"{percent(AS_PREDICTED)} of the range counts as predicted), the share of the roof it is held against, the worst finding or, "
             "without one, the roof that binds, and the reference's time over the rung's, timed in turns (above 1 the rung is "
             "faster). A gain across two runs shows by different names in the last column. Predictions come from the kernels' "
             "headers or, for the prefill shapes, from `ladder.json`, before the case was measured; where a header gives clocks and "
             "not a gain, the gain follows from them.")
    return ["## The ladder", intro] + [block for ladder in document["ladders"] for block in ladder_section(reports, ladder)]


# ---- the five seeds ---------------------------------------------------------------------------------------------

def seed_blocks(reports):
    blocks = ["## The five seeds",
              "attnbench grew out of five reports by people who wrote attention kernels by hand. What each claimed, in its own "
              "numbers, beside what was measured here."]
    for name, title, setting, judged in verdicts(reports):
        rows = [[claim, measured, f"**{verdict}**" + (f": {because}" if because else "")] for claim, measured, verdict, because in judged]
        blocks += [f"### {name}: {title}", setting, table(["claim", "measured here", "verdict"], rows, [])]
    return blocks


# ---- scaling ----------------------------------------------------------------------------------------------------

SCALING_SWEEP = "v3"


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
        if row["time"] and row["scaling"]:
            variants.setdefault(row["variant"], []).append(row)
    grown = {v: sorted(rows, key=lambda row: row["scaling"]["bh_ratio"]) for v, rows in variants.items() if len(rows) > 1}
    if not grown:
        return []
    shapes = [row["shape"]["B"] * row["shape"]["Hq"] for row in next(iter(grown.values()))]
    columns = ["variant", "full at B*H", f"us per (b, h) at B*H = {shapes[0]}", f"at {shapes[-1]}", "work", "expected by waves", "measured",
               "verdicts"]
    return [f"## Scaling over B*H, `{SCALING_SWEEP}`",
            f"The B*H at which a variant's grid fills one wave, the price of one (batch, head) pair, and growth from B*H = {shapes[0]} to "
            f"{shapes[-1]} (hot). Verdicts are defined in [results/README.md](../README.md).",
            table(columns, [scaling_row(v, rows) for v, rows in grown.items()], columns[1:-1])]


# ---- PyTorch ----------------------------------------------------------------------------------------------------

def own_best(rows):
    """(variant, row) of the fastest measured row that is no vendor's; None."""
    timed = [(name, row) for name, row in rows.items() if row["time"] and not is_vendors(row)]
    return min(timed, key=lambda item: hot_us(item[1])) if timed else None


def torch_table(reports, sweep):
    """Best kernel here against PyTorch's best backend, per case."""
    lines = []
    for key, rows in reports.cases(sweep).items():
        ours, theirs = own_best(rows), reports.torch_best(sweep, key)
        if ours and theirs:
            lines.append([case_label(ours[1]["shape"]), f"`{ours[0]}`", microseconds(hot_us(ours[1])), f"`{theirs[0]}`",
                          microseconds(hot_us(theirs[1])), ratio(hot_us(theirs[1]) / hot_us(ours[1]))])
    return table(["B,H,S,D", "fastest here", "hot us", "fastest in PyTorch", "hot us ", "ratio"], lines, ["hot us", "hot us ", "ratio"])


def library_version(reports, sweep):
    """What a vendor's row calls its library: in this sweep's report, else in another one's."""
    for name in (sweep, *reports.sweeps):
        for row in reports.rows(name):
            if row["variant"] == REFERENCE and row["launches"] and row["launches"][0]["name"].startswith("cuDNN "):
                return row["launches"][0]["name"] + ("" if name == sweep else f", by the report of `{name}`")
    return "cuDNN 9, version not in the report"


def same_library(reports, sweep):
    """attnbench's cuDNN against PyTorch's: the table, and a sentence on how far they are apart."""
    lines, worst = [], 0.0
    for key in reports.cases(sweep):
        ours, theirs = reports.row(sweep, key, REFERENCE), reports.torch_rows(sweep, key).get(REFERENCE)
        if not ours or not theirs:
            continue
        cells = [case_label(ours["shape"])]
        for mode in ("hot", "cold"):
            a, b = ours["time"][mode]["median_us"], theirs["time"][mode]["median_us"]
            cells += [microseconds(a), microseconds(b), f"{100 * (b / a - 1):+.1f} %"]
            worst = max(worst, abs(b / a - 1)) if mode == "hot" else worst
        lines.append(cells)
    if not lines:
        return []
    versions = torch_versions(reports.torch[sweep])
    ours = library_version(reports, sweep)
    columns = ["B,H,S,D", "attnbench hot us", "PyTorch hot us", "difference", "attnbench cold us", "PyTorch cold us", "difference "]
    verdict = "agree within" if worst <= SAME_LIBRARY else "**differ by more than**"
    return [f"cuDNN's kernel as attnbench runs it ({ours}) and as PyTorch {versions.get('torch', '?')} runs it (cuDNN "
            f"{versions.get('cuDNN', '?')}), over `{sweep}`: hot times {verdict} {percent(SAME_LIBRARY)} (largest {percent(worst)}).",
            table(columns, lines)]


def torch_blocks(reports):
    if not reports.torch:
        return []
    blocks = ["## PyTorch",
              "`scripts/sdpa_baseline.py` times `scaled_dot_product_attention` per backend on the same inputs, as a CUDA graph (hot) and "
              "after an L2 flush (cold), checked against the same oracle. Ratio: PyTorch's best hot median over the best here; above 1 "
              "the kernel here is faster. The two ran in different processes."]
    if "v3" in reports.torch:
        blocks += same_library(reports, "v3")
    for sweep in ("large_d", *TORCH_SWEEPS):
        if sweep in reports.torch and sweep in reports.sweeps:
            blocks += [f"`{sweep}`:", torch_table(reports, sweep)]
    return blocks


# ---- every sweep ------------------------------------------------------------------------------------------------

def speed_cell(row):
    """Hot median in us, and the reference's time over it where the two were timed in turns."""
    if row is None:
        return "-"
    if not row["time"]:
        return row["status"]
    return microseconds(hot_us(row)) + (f" ({ratio(speedup(row))})" if speedup(row) else "")


def speed_table(reports, sweep):
    """Cases against variants that were measured anywhere in the sweep; the longer names head rows."""
    variants = list(dict.fromkeys(r["variant"] for r in reports.rows(sweep) if r["time"]))
    cases = {key: (case_label(next(iter(rows.values()))["shape"]), rows) for key, rows in reports.cases(sweep).items()}
    if not variants:
        return "Nothing was timed."
    if max(map(len, variants)) > LONG_SPEC:
        return table(["variant", *(label for label, _ in cases.values())],
                     [[f"`{v}`", *(speed_cell(rows.get(v)) for _, rows in cases.values())] for v in variants])
    return table(["B,H,S,D", *(f"`{v}`" for v in variants)],
                 [[label, *(speed_cell(rows.get(v)) for v in variants)] for label, rows in cases.values()])


def run_facts(report):
    run, tool = report["run"], report["tool"]
    return (f"`{run['command']}` ({tool['git_commit']}), {run['cells']} cells in {run['wall_s']:.1f} s wall, of which "
            f"{run['overhead_s']:.2f} s were not device work.")


def card_facts(report):
    device = report["device"]
    return (f"Card {device['uuid'][:12]}, where an empty kernel between two events took {device['event_overhead_us']:.2f} us: that much is "
            "in every cold time.")


def sweep_blocks(reports):
    blocks = ["## Every sweep",
              "Medians in microseconds, hot (back-to-back launches on the same buffers, as a graph), each sweep from one run; in "
              "parentheses cuDNN's time over the row's, the two timed in turns (above 1 the row is faster). Cold times, intervals, "
              "clocks, geometry and findings are in the reports. Sweeps were measured on several cards of this kind, one card for "
              "each. Hosts differ in what a launch costs, which moves kernels of a few microseconds: compare such rows within a "
              "sweep, where they shared a card and a process."]
    for sweep, report in reports.sweeps.items():
        about = report["sweep"]["about"]
        blocks += [f"### `{sweep}`", *([about + "."] if about else []), speed_table(reports, sweep),
                   run_facts(report) + " " + card_facts(report)]
    return blocks


# ---- the page ---------------------------------------------------------------------------------------------------

def device_text(reports):
    device, tool = reports.device, next(iter(reports.sweeps.values()))["tool"]
    return (f"{device['name']}, compute capability {device['cc_major']}.{device['cc_minor']}, {device['sms']} SMs at up to "
            f"{device['sm_clock_max_mhz']:.0f} MHz, {device['dram_gb_per_s']:.0f} GB/s, driver {device['driver']}, CUDA {tool['cuda']}")


def plot_blocks(plots):
    if not plots:
        return []
    return ["## Plots"] + [f"![{title}](plots/{name}.svg)\n\n{caption}" for name, title, caption in plots]


def selftest_blocks(data):
    """`attnbench --selftest --json`."""
    def bound(line):
        low, high = ("-" if line[end] is None else significant(line[end]) for end in ("low", "high"))
        return f"{low} to {high}"
    rows = [[line["name"], line["unit"] or "-", "-" if line["value"] is None else significant(line["value"]), bound(line), line["verdict"],
             line["about"]] for line in data["lines"]]
    return ["## The timer's self-test",
            f"`attnbench --selftest` on {data['device']['name']}: the timer held against launches whose duration is known. `cold` and `hot` "
            "lines are its error, microseconds.",
            table(["check", "unit", "value", "bounds", "verdict", "about"], rows, ["value"])]


def extra_blocks(reports, folder):
    blocks = selftest_blocks(reports.selftest) if reports.selftest else []
    for name in TABLES:
        if name in reports.tables:
            body = table_blocks(reports.tables[name], f"{folder}/{name}.json")
            blocks += [f"## {reports.tables[name]['title']}", *body]
    return blocks


def page(folder, reports, ladder, plots):
    """results/<folder>/README.md. `plots`: (name, title, caption) of each picture."""
    opening = [f"# One {reports.device['name']}", GENERATED,
               f"{device_text(reports)}; nothing was locked. `<sweep>.journal` is what a run measured, `<sweep>.json` the report that "
               "`attnbench report` makes of it ([format](../README.md)), `torch_<sweep>.json` what `scripts/sdpa_baseline.py` measured "
               "of PyTorch. This page and the plots are made from them by `scripts/results/update_results.py`; no figure is typed by hand."]
    blocks = (opening + ladder_blocks(reports, ladder) + seed_blocks(reports) + scaling_blocks(reports) + plot_blocks(plots) + torch_blocks(reports)
              + extra_blocks(reports, folder) + sweep_blocks(reports))
    return "\n\n".join(blocks) + "\n"


# ---- the top README's blocks ------------------------------------------------------------------------------------

def headline_row(sweep, key, rows):
    name, best = own_best(rows)
    reference = rows.get(REFERENCE)
    return [sweep, case_label(best["shape"]), f"`{name}`", microseconds(hot_us(best)), significant(tflops(best)), roof_share(best),
            microseconds(hot_us(reference)) if reference and reference["time"] else "-", interval(best)]


def interval(row):
    against = (row["speedup_vs"] or {}).get("hot")
    return f"{against['ratio']:.3f} ({against['ci95_low']:.3f} to {against['ci95_high']:.3f})" if against else "-"


def headline(reports):
    """The fastest kernel here per case, beside cuDNN."""
    lines = [headline_row(sweep, key, rows) for sweep in README_SWEEPS for key, rows in reports.cases(sweep).items() if own_best(rows)]
    return table(["sweep", "B,H,S,D", "fastest here", "hot us", "TFLOP/s", "of roof", "cuDNN us", "speedup vs cuDNN (95 %)"], lines,
                 ["hot us", "TFLOP/s", "of roof", "cuDNN us", "speedup vs cuDNN (95 %)"])


def v3_story(reports):
    """What the opening example shows, in its own figures."""
    rows = [row for row in reports.rows("v3") if row["variant"] == "serial" and row["time"]]
    scalar = reports.row("v3", rows[-1]["key"], "scalar") if rows else None
    if not scalar:
        raise Failure(INPUT, "v3: no times of serial and scalar, whose story the top README tells")
    first, last = rows[0], rows[-1]
    batch = last["shape"]["B"] // first["shape"]["B"]
    return textwrap.fill(f"The sweep is the story of a kernel that was thought to \"not scale\": `serial` takes {ratio(hot_us(last) / hot_us(first))} the time while "
            f"the batch grows {batch} times. Time alone cannot say whether that is a fault (the work grows "
            f"{last['flops'] // first['flops']} times, and a full GPU is linear too); the launch grid can. `serial` launches "
            f"{last['launches'][0]['blocks']} blocks whatever B and H are. attnbench names that from geometry and time together, and does not say "
            f"it of the variants beside it: `scalar`, the same row code with B and H on the grid, is {ratio(hot_us(last) / hot_us(scalar))} as fast.", 120)


def readme_blocks(reports, v3_output, folder):
    """Text of each block of the top README by name; `v3_output` is attnbench's own table."""
    blocks = {}
    if "v3" in reports.sweeps:
        device, tool = reports.device, reports.sweeps["v3"]["tool"]
        blocks["v3-output"] = "```\n$ ./attnbench --sweep shapes/v3.json\n" + v3_output + "\n```"
        blocks["v3-facts"] = (f"Measured on one {device['name']} (driver {device['driver']}, CUDA {tool['cuda']}, nothing locked): "
                              + run_facts(reports.sweeps["v3"]))
        blocks["v3-story"] = v3_story(reports)
        blocks["headline"] = headline(reports)
    if "gate" in reports.tables:
        summary = {key: value for key, value in reports.tables["gate"].items() if key != "tables"}
        blocks["gate-rates"] = "\n\n".join(table_blocks(summary, f"{folder}/gate.json"))
    return blocks
