"""results/<gpu>/ladder.md: the kernels rung by rung, each gain as predicted (ladder.json) and as measured."""
from lib.files import read_json
from lib.program import INPUT, Failure
from lib.reports import case_label, hot_us, is_vendors, limit, roof_share, speedup, tflops
from lib.tables import microseconds, percent, ratio, significant, table

AS_PREDICTED = 0.02  # a gain this close to the predicted range, relative, is as predicted


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
            raise Failure(INPUT, f'{named}: {value} is not a prediction; write [low, high], {{"us": time}}, '
                                 '{"saves_us": difference} or null')
    if rung.get("over") is not None and rung["over"] not in [other.get("variant") for other in ladder["rungs"]]:
        raise Failure(INPUT, f"{named} is over {rung['over']}, which is not a rung of this ladder")


def read(path):
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


def gain_over(row, below):
    """How many times faster than the rung below. Where each was timed in turns with the reference, by these ratios: a clock
    that was another one for the two rows is in both halves of a ratio."""
    if speedup(row) and speedup(below):
        return speedup(row) / speedup(below)
    return hot_us(below) / hot_us(row)


def held_against(prediction, row, below):
    """The measured gain in words, against what was predicted."""
    gain = gain_over(row, below) if below else None
    words = [ratio(gain)] if below else []
    if isinstance(prediction, dict) and "us" in prediction:
        words.append(f"{ratio(hot_us(row) / prediction['us'])} the predicted time")
    elif isinstance(prediction, dict) and below:
        words.append(f"{microseconds(abs(hot_us(below) - hot_us(row)))} us {'less' if gain >= 1 else 'more'}")
    elif prediction and below:
        words.append(placed(gain, *prediction))
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
    return [name, predicted_text(prediction), held_against(prediction, row, below),
            microseconds(hot_us(row)), significant(tflops(row)), roof_share(row), limit(row), against_reference(reports, sweep, row), sweep]


RUNG_COLUMNS = ["rung", "predicted", "measured gain", "hot us", "TFLOP/s", "of peak (at its clock)", "limit", "vs reference", "run"]
RUNG_RIGHT = ["hot us", "TFLOP/s", "of peak (at its clock)", "vs reference"]


def case_rows(reports, ladder, case_index):
    rows = rung_rows(reports, ladder, case_index)
    if not any(row for _, _, row, _ in rows):
        return None
    return [rung_cells(reports, rung, sweep, row, below, rung["predicted"][case_index] if "predicted" in rung else None)
            for rung, sweep, row, below in rows]


def tables_of(reports, ladder):
    """One table per case, or one for all cases of a short ladder."""
    labels = [case_label(key) for key in ladder["cases"]]
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


def section(reports, ladder):
    reasons = []
    for index, rung in enumerate(ladder["rungs"]):
        below = rung_below(ladder, index)
        over = f" (over `{below['variant']}`)" if below and "over" in rung else ""
        why = f" Prediction: {rung['why']}." if "why" in rung else ""
        reasons.append(f"- `{rung['variant']}`{over}: {rung['what']}.{why}")
    return [f"## {ladder['id']}: {ladder['title']}", ladder["about"], "\n".join(reasons), *tables_of(reports, ladder)]


def blocks(reports, document):
    """The page's text under its title."""
    intro = ("Each rung, its gain over the rung below as predicted and as measured (by the two ratios to "
             "the reference, or by hot medians where one has none; within "
             f"{percent(AS_PREDICTED)} of the range counts as predicted), the share of its roof, the worst finding or, "
             "without one, the roof that binds, and the reference's time over the rung's, timed in turns (above 1 the rung is "
             "faster). A gain across two runs shows by different names in the last column. Predictions come from the kernels' "
             "headers or, for the prefill shapes, from `ladder.json`, before the case was measured; where a header gives clocks and "
             "not a gain, the gain follows from them.")
    return [intro] + [block for ladder in document["ladders"] for block in section(reports, ladder)]
