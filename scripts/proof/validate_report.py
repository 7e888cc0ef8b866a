#!/usr/bin/env python3
"""Checks attnbench JSON reports and comparisons against their schemas in results/ and against what a schema cannot say.
Of a report: counts add up, keys name their shapes, no cell appears twice, quantiles are ordered, a row that is not ok has
no speed. Of a comparison: counts and exit code are those of its rows, and no row appears twice.

exit 0: all are valid; 1: at least one is not; 2: usage, or python3-jsonschema is missing
"""
import argparse
import json
import math
import pathlib
import re
import sys

try:
    import jsonschema
except ImportError:
    print("validate_report.py: needs python3-jsonschema; apt-get install python3-jsonschema", file=sys.stderr)
    sys.exit(2)

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results"
STATUSES = ["ok", "wrong", "skipped", "planned", "oom_predicted", "error", "crashed", "timeout", "implausible", "left_out"]
COVERAGE = ["oom_predicted", "error", "crashed", "timeout", "implausible", "left_out"]
QUANTILES = ["min_us", "p25_us", "median_us", "p75_us", "p95_us", "max_us"]


def reject_constant(name):
    raise ValueError(f"{name} is not JSON")


def finite(text):
    if math.isinf(float(text)):
        raise ValueError(f"{text} is too large for a double")
    return float(text)


def reject_duplicates(pairs):
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f'key "{key}" appears twice in one object')
    return dict(pairs)


# What stands before a value in a key, where it is not the member's name.
KEY_PREFIXES = {"Hq": "H", "dtype": "", "layout": "", "out_dtype": "out_", "kv_dtype": "kv_", "scales": "scales_"}


def key_part(name, value):
    if isinstance(value, bool):
        return name
    text = ":".join(map(str, value)) if isinstance(value, list) else value
    return f"{KEY_PREFIXES.get(name, name)}{text}"


def key_of(shape):
    """The members of the shape in their order; a window stands in the place of the mask."""
    mask = {} if "window" in shape else {"causal" if shape["causal"] else "full": True}
    parts = [mask if name == "causal" else {name: value} for name, value in shape.items()]
    return ".".join(key_part(name, value) for part in parts for name, value in part.items())


def check_nulls(value, where):
    """Only a null has a reason beside it."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from check_nulls(item, f"{where}[{i}]")
    if isinstance(value, dict):
        for key, item in value.items():
            reason = key.removesuffix("_reason")
            if reason in ("", key, "roof"):  # "reason" itself; roof_reason also explains {cold: null, hot: null}
                pass
            elif value.get(reason, 0) is not None:
                yield f"{where}.{key} explains a value that is not null"
            yield from check_nulls(item, f"{where}.{key}")


def check_time(time, where):
    for mode, stats in (time or {}).items():
        if stats is None:
            continue
        quantiles = [stats[name] for name in QUANTILES]
        if quantiles != sorted(quantiles):
            yield f"{where}.time.{mode}: quantiles are not in order"
        if not stats["min_us"] <= stats["ci95_low_us"] <= stats["median_us"] <= stats["ci95_high_us"] <= stats["max_us"]:
            yield f"{where}.time.{mode}: the interval does not hold the median"


def check_speedup(result, where):
    speedup = result["speedup_vs"] or {"reference": None, "cold": None, "hot": None}
    if speedup["reference"] == result["variant"]:
        yield f"{where}.speedup_vs: the row is its own reference"
    for mode in ("cold", "hot"):
        ratio = speedup[mode]
        if ratio is not None and result["time"][mode] is None:
            yield f"{where}.speedup_vs.{mode}: the row has no time in this mode"
        if ratio is not None and not ratio["ci95_low"] <= ratio["ratio"] <= ratio["ci95_high"]:
            yield f"{where}.speedup_vs.{mode}: the interval does not hold the ratio"


def check_processes(result, where):
    for mode, processes in result.get("processes", {}).items():
        if processes is None:
            continue
        lists = [processes[name] for name in ("median_us", "sm_clock_mhz", "throttle_reasons")]
        if any(len(values) != processes["count"] for values in lists):
            yield f"{where}.processes.{mode}: a list does not have {processes['count']} entries, one per process"
        elif result["time"][mode] is None or processes["median_us"][0] != result["time"][mode]["median_us"]:
            yield f"{where}.processes.{mode}: the first median differs from time.{mode}.median_us"


def check_result(result, where):
    if result["key"] != key_of(result["shape"]):
        yield f"{where}.key is not that of its shape, {key_of(result['shape'])}"
    yield from check_time(result["time"], where)
    yield from check_speedup(result, where)
    yield from check_processes(result, where)
    for mode in ("cold", "hot"):
        timed = result["time"] is not None and result["time"][mode] is not None
        has_rate = result["tflop_per_s"] is not None and result["tflop_per_s"][mode] is not None
        if timed != has_rate:
            yield f"{where}: has only one of tflop_per_s.{mode} and time.{mode}"
    for i, launch in enumerate(result["launches"]):
        grid = launch["grid"]
        if launch["blocks"] != grid[0] * grid[1] * grid[2]:
            yield f"{where}.launches[{i}].blocks is not the product of the grid"


def hash_of(data):
    """FNV-1a, 64 bits."""
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return f"{value:016x}"


def check_checksum(data, report):
    """Of the bytes before the comma that leads to it; reports of older versions and of other programs have none."""
    end = re.search(rb',\n\t"checksum":\t"([0-9a-f]{16})"\n}\n\Z', data)
    if "has_checksum" not in report and "checksum" not in report:
        return
    if end is None or end[1].decode() != hash_of(data[:end.start()]):
        yield "checksum: does not match; the file was changed after it was written"


def check_report(report):
    results, summary = report["results"], report["summary"]
    for status in STATUSES:
        count = sum(result["status"] == status for result in results)
        if summary.get(status, 0) != count:
            yield f"summary.{status} is {summary.get(status, 0)}, results have {count}"
    if sum(summary.get(status, 0) for status in STATUSES) != summary["cells"] or summary["cells"] != len(results):
        yield f"summary.cells is {summary['cells']}, results have {len(results)}"
    missing = len(results) < report["run"]["cells"]
    coverage = missing or any(summary.get(status, 0) for status in COVERAGE)
    exit_code = 3 if summary["wrong"] else 4 if coverage else 0
    if summary["exit_code"] != exit_code:
        yield f"summary.exit_code is {summary['exit_code']}, its rows make it {exit_code}"
    cells = [(result["key"], result["variant"]) for result in results]
    if len(set(cells)) != len(cells):
        yield "results hold a cell twice"
    for i, result in enumerate(results):
        yield from check_result(result, f"results[{i}]")
    yield from check_nulls(report, "report")


# Verdicts with their exit codes, the worst first.
VERDICT_CODES = [("wrong", 3), ("implausible", 4), ("missing", 4), ("added", 4), ("regressed", 1), ("cycles", 1),
                 ("inconclusive", 5), ("clock", 5)]
JUDGED = ["same", "improved", "regressed", "cycles", "inconclusive", "clock", "wrong", "implausible", "missing"]


def expected_exit(comparison):
    settings, summary = comparison["settings"], comparison["summary"]
    if not comparison["identity"]["comparable"]:
        return 6
    if summary["compared"] == 0 and not summary["wrong"]:
        return 4
    forgiven = ["added"] * settings["allow_new"] + ["inconclusive", "clock"] * settings["noise_is_ok"]
    found = {verdict for verdict, _ in VERDICT_CODES if summary.get(verdict)}
    if comparison.get("suite"):
        found.add(comparison["suite"]["verdict"])
    codes = [code for verdict, code in VERDICT_CODES if verdict in found.difference(forgiven)]
    return codes[0] if codes else 0


def check_comparison(comparison):
    rows, summary = comparison["rows"], comparison["summary"]
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in [*JUDGED, "added", "untimed"]}
    counts["rows"] = len(rows)
    counts["expected"] = sum(counts[verdict] for verdict in JUDGED)
    counts["compared"] = sum(row["time_ratio"] is not None for row in rows)
    counts["exit_code"] = expected_exit(comparison)
    for key, count in counts.items():
        if summary.get(key, 0) != count:
            yield f"summary.{key} is {summary.get(key)}, its rows make it {count}"
    fatal = any(difference["fatal"] for difference in comparison["identity"]["differences"])
    if fatal == comparison["identity"]["comparable"]:
        yield "identity.comparable contradicts its differences"
    names = [(row["key"], row["variant"], row["mode"]) for row in rows]
    if len(set(names)) != len(names):
        yield "rows hold a case twice"
    for i, row in enumerate(rows):
        if row["base"] is None and row["new"] is None:
            yield f"rows[{i}] is in neither report"
        if row["time_ratio"] is None and row["bound_low_ratio"] is not None:
            yield f"rows[{i}] has bounds of a ratio but no ratio"


FORMATS = {
    "attnbench.report/1": ("report.schema.json", check_report),
    "attnbench.compare/1": ("compare.schema.json", check_comparison),
}


def one_of_each(report):
    """The report with one row of each variant and status: what is written of other rows of these is written by the same code."""
    results = report.get("results")
    if not isinstance(results, list) or not all(isinstance(row, dict) for row in results):
        return report
    rows = {(str(row.get("variant")), str(row.get("status"))): row for row in results}
    return {**report, "results": list(rows.values())}


def problems_of(path, samples=False):
    try:
        with open(path, "rb") as file:
            data = file.read()
        document = json.loads(data, parse_constant=reject_constant, parse_float=finite, object_pairs_hook=reject_duplicates)
    except OSError as error:
        return [f"cannot be read: {error.strerror}"]
    except (ValueError, RecursionError) as error:
        return [f"not valid JSON: {error}"]
    name = document.get("schema") if isinstance(document, dict) else None
    if name not in FORMATS:
        return [f"schema is {name!r}; must be one of {', '.join(FORMATS)}"]
    schema_name, check = FORMATS[name]
    with open(RESULTS / schema_name, encoding="utf-8") as file:
        validator = jsonschema.Draft202012Validator(json.load(file))
    held = one_of_each(document) if samples and name == "attnbench.report/1" else document
    errors = sorted(validator.iter_errors(held), key=lambda error: list(map(str, error.absolute_path)))
    if errors:
        return [f"{'/'.join(map(str, error.absolute_path)) or 'top level'}: {error.message[:300]}" for error in errors]
    return [*check_checksum(data, document), *check(document)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="FILE.json")
    parser.add_argument("--sample", action="store_true",
                        help="hold one row of each variant and status of a report against the schema, which takes long, not all")
    args, bad = parser.parse_args(), 0
    for path in args.paths:
        problems = problems_of(path, args.sample)
        bad += bool(problems)
        for problem in problems[:20]:
            print(f"{path}: {problem}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
