"""Reports of attnbench: reading them, from JSON or from a journal, and what is asked of their rows."""
import json
import pathlib
import re

from .program import COVERAGE, INPUT, NOT_COMPARABLE, Failure, code_of, execute
from .tables import percent

REFERENCE = "cudnn"
SCHEMA = "attnbench.report/1"
PARTS = {"tool": dict, "run": dict, "sweep": dict, "results": list}


# ---- reading ----------------------------------------------------------------------------------------------------

def from_journal(journal, attnbench):
    """The text of the JSON report that `attnbench report` makes of a journal."""
    done = execute([attnbench, "report", journal, "--json", "-"])
    if not done.stdout.startswith("{"):
        raise Failure(code_of(done.returncode), f"attnbench report {journal} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def parse(path, attnbench):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return json.loads(from_journal(path, attnbench) if text.startswith('{"journal":') else text)


def read(path, attnbench):
    """The report of a run that measured something, from its JSON or its journal."""
    try:
        report = parse(path, attnbench)
    except OSError as error:
        raise Failure(INPUT, f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Failure(INPUT, f"{path}: not a report: {error}; write it with attnbench --json") from error
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise Failure(INPUT, f"{path}: schema is not {SCHEMA}; write it with attnbench --json")
    for part, kind in PARTS.items():
        if not isinstance(report.get(part), kind):
            raise Failure(INPUT, f'{path}: has no "{part}"; write it with attnbench --json')
    if not isinstance(report.get("device"), dict) or "name" not in report["device"]:
        raise Failure(INPUT, f"{path}: it is a plan and holds no measured times; give a report of a run")
    return report


def require_comparable(report, path, captured):
    """A report that was given holds the rows of a capture, measured on such a GPU."""
    ours, theirs = report["device"]["name"], captured["device"]["name"]
    if ours != theirs:
        raise Failure(NOT_COMPARABLE, f"{path}: was measured on {ours}, the tool ran on {theirs}; measure the sweep here")
    if not ok_rows(report) & ok_rows(captured):
        raise Failure(COVERAGE, f"{path}: has none of the rows that are ok in sweep {captured['sweep']['name']} under the "
                                "tool; give a report of that sweep")


def ok_rows(report):
    return {(row["key"], row["variant"]) for row in report["results"] if row["status"] == "ok"}


# ---- one row ----------------------------------------------------------------------------------------------------

def hot_us(row):
    return row["time"]["hot"]["median_us"]


def tflops(row, mode="hot"):
    return row["tflop_per_s"][mode]


def speedup(row, mode="hot"):
    """The reference's time over the row's, timed in turns, or None."""
    against = (row["speedup_vs"] or {}).get(mode)
    return against["ratio"] if against else None


def finding_ids(row):
    return [finding["id"] for finding in row["findings"]]


def limit(row):
    """The worst finding; without any, the row's roof."""
    named = [i for i in finding_ids(row) if i != "scales_with_bh"]
    if named:
        return f"`{named[0]}`"
    roof = row["roof"]["hot"]
    return f"{roof['name']} roof" if roof and not is_vendors(row) else "-"


def is_vendors(row):
    """A library's kernel: attnbench did not plan it."""
    return not row["plan"] or not row["plan"]["tile_q"]


def roof_share(row):
    """The share of the roof at the highest clock, and of the roof at the clock that was measured where that is another."""
    roof = row["roof"]["hot"] if row["roof"] else None
    if not roof:
        return "-"
    at_clock = f" ({percent(roof['ratio'])} at {roof['clock_mhz']:.0f} MHz)"
    return (f"{percent(roof['peak_ratio'])} {roof['name'].partition('_')[0]}"
            f"{at_clock if percent(roof['ratio']) != percent(roof['peak_ratio']) else ''}")


def parts_of_key(key):
    """The six sizes of a case's key, and what stands behind them: ["f16", "full"]."""
    match = re.fullmatch(r"B(\d+)\.H(\d+)\.Hkv(\d+)\.Sq(\d+)\.Skv(\d+)\.D(\d+)\.(.+)", key)
    if not match:
        raise Failure(INPUT, f"{key} is not a case key such as B1.H8.Hkv8.Sq512.Skv512.D64.f16.full")
    return match.groups()[:6], re.split(r"\.(?=[A-Za-z])", match[7])


def case_label(key):
    """A case's key for people: "1,32/8,1x4096,128 f16 full"."""
    (batch, queries, heads, rows, keys, columns), traits = parts_of_key(key)
    heads = queries if queries == heads else f"{queries}/{heads}"
    length = rows if rows == keys else f"{rows}x{keys}"
    return f"{batch},{heads},{length},{columns} {' '.join(traits)}"
