#!/usr/bin/env python3
"""Does the advice keep its promises? Every finding that promises a gain is held against a row of the same case that made
the change, in the journals of a folder. A promise is taken from a report that holds the row's own variant alone, so
that it is the model's and not read off the measurement; who made the change is decided here, not by attnbench.

  scripts/proof/check_advice.py            write results/h200/advice.md (--folder: another)
  scripts/proof/check_advice.py --check    write nothing; exit 1 when the page is out of date

Exit code: 0 at least 80 % of the promises are within a factor of 1.5 of the measured gain and none has the wrong sign;
1 otherwise, or the page is out of date; 7 a journal is not readable; 9 attnbench is missing.
"""
import argparse
import collections
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import files, program, reports
from lib.program import INTERNAL, REGRESSION, ROOT, Failure
from lib.reports import case_label
from lib.tables import percent, ratio, table

WITHIN = 1.5
RIGHT_MIN = 0.80
SAME_REGISTERS = 0.15  # of two kernels with one inner loop
FRAGMENT_ROWS = 16
PADDED = 1.25
BYTES = {"f16": 2, "bf16": 2, "f32": 4}


# ---- who made a change ------------------------------------------------------------------------------------------

def main_launch(row):
    return max(row["launches"], key=lambda launch: launch["cold_us"] or 0)


def name_and_tunables(row):
    name, _, tunables = row["variant"].partition(":")
    return name, dict(pair.split("=") for pair in tunables.split(",") if pair)


def covers(row, what):
    return any(what in axis.split("*") for launch in row["launches"] for axis in launch["axis_covers"])


def threads(row):
    block = main_launch(row)["block"]
    return block[0] * block[1] * block[2]


def busy_threads(row):
    return main_launch(row)["row_threads"] + main_launch(row).get("producer_threads", 0)


def in_registers(row):
    plan, shape, launch = row["plan"], row["shape"], main_launch(row)
    tiles = (plan["tile_q"] + 2 * max(plan["stages"], 1) * plan["tile_kv"]) * shape["D"] * BYTES[shape["dtype"]]
    return launch["dynamic_smem_bytes"] + (launch["static_smem_bytes"] or 0) <= PADDED * tiles


def same_registers(a, b):
    here, there = main_launch(a)["registers"] or 0, main_launch(b)["registers"] or 0
    return abs(here - there) <= SAME_REGISTERS * max(here, there)


def one_tunable(a, b):
    """Settings of one variant that differ in one tunable; the default of a tunable is not written."""
    (_, ours), (_, theirs) = name_and_tunables(a), name_and_tunables(b)
    return sum(ours.get(key) != theirs.get(key) for key in ours.keys() | theirs.keys()) == 1


def shares_reads(a, b):
    ours, theirs = main_launch(a), main_launch(b)
    fills = theirs["sm_ratio"] >= 1 or theirs["blocks"] >= ours["blocks"] * a["plan"]["tile_q"] / FRAGMENT_ROWS
    return a["plan"]["tile_q"] < FRAGMENT_ROWS <= b["plan"]["tile_q"] and fills


KEEPS = {
    "math": lambda a, b: a["math"] == b["math"],
    "tiles": lambda a, b: all(a["plan"][k] == b["plan"][k] for k in ("tile_q", "tile_kv")),
    "splits": lambda a, b: a["plan"]["splits"] == b["plan"]["splits"],
    "stages": lambda a, b: a["plan"]["stages"] == b["plan"]["stages"],
    "threads": lambda a, b: threads(a) == threads(b),
    "registers": same_registers,
    "rows_per_thread": lambda a, b: abs(a["plan"]["tile_q"] / max(main_launch(a)["row_threads"], 1)
                                        - b["plan"]["tile_q"] / max(main_launch(b)["row_threads"], 1)) < 1e-9,
    "variant": lambda a, b: False,  # only settings of one variant count
}
TENSOR = ("tensor", "wgmma")

# change: (did b make it, what two variants must have in common)
CHANGES = {
    "grid_bh": (lambda a, b: main_launch(b)["covers_bh"] and not main_launch(a)["covers_bh"],
                "math splits stages rows_per_thread"),
    "splits": (lambda a, b: b["plan"]["splits"] > a["plan"]["splits"], "math tiles stages threads registers"),
    "d_chunks": (lambda a, b: covers(b, "D") and not covers(a, "D"), "math"),
    "fewer_rows": (lambda a, b: b["plan"]["tile_q"] < a["plan"]["tile_q"], "variant"),
    "more_blocks": (lambda a, b: main_launch(b)["blocks"] > main_launch(a)["blocks"], "variant"),
    "more_resident": (lambda a, b: main_launch(b)["resident_blocks"] > main_launch(a)["resident_blocks"], "variant"),
    "threads_per_row": (lambda a, b: busy_threads(b) / threads(b) > busy_threads(a) / threads(a),
                        "math tiles splits stages threads"),
    "stages": (lambda a, b: b["plan"]["stages"] > a["plan"]["stages"], "math tiles splits"),
    "share_reads": (shares_reads, "math splits"),
    "tensor": (lambda a, b: a["math"] not in TENSOR and b["math"] in TENSOR, "tiles splits stages"),
    "registers": (lambda a, b: in_registers(b) and not in_registers(a), "math splits"),
    "wgmma": (lambda a, b: a["math"] == "tensor" and (b["math"] == "wgmma" or reports.is_vendors(b)), ""),
}


def made(change, a, b):
    if b is a or b["key"] != a["key"] or b["status"] != "ok" or not b["launches"] or b.get("injected"):
        return False
    if reports.is_vendors(b) and change != "wgmma":
        return False
    did, keeps = CHANGES[change]
    one_variant = name_and_tunables(a)[0] == name_and_tunables(b)[0]
    comparable = one_tunable(a, b) if one_variant else all(KEEPS[what](a, b) for what in keeps.split())
    return comparable and did(a, b)


# ---- what it gained ---------------------------------------------------------------------------------------------

FULL_WAVE_IDLE = 0.15


def shape_but_for_heads(row):
    return {axis: value for axis, value in row["shape"].items() if axis not in ("B", "Hq", "Hkv")}


def fills_its_waves(a, b):
    """The same launch at a larger B*H, whose last wave is nearly full."""
    ours, theirs = main_launch(a), main_launch(b)
    alike = all(ours[k] == theirs[k] for k in ("block", "resident_blocks"))
    return (a["variant"] == b["variant"] and a["plan"] == b["plan"] and shape_but_for_heads(a) == shape_but_for_heads(b)
            and alike and theirs["blocks"] > ours["blocks"] and theirs["waves"] >= 1
            and theirs["tail_waste_ratio"] <= FULL_WAVE_IDLE)


def gain_per_block(a, b):
    return reports.hot_us(a) / main_launch(a)["blocks"] / (reports.hot_us(b) / main_launch(b)["blocks"])


def with_full_mask(key):
    """The key of the case in which all q tiles of a causal one have as many keys; None where it has unlike work otherwise."""
    parts = key.split(".")
    unlike = any(part.startswith(("sparse", "batch", "ragged", "window")) for part in parts)
    return ".".join("full" if part == "causal" else part for part in parts) if "causal" in parts and not unlike else None


def gain_per_pair(a, b):
    return reports.hot_us(a) / a["flops"] / (reports.hot_us(b) / b["flops"])


def gains(change, row, rows):
    """[(gain, variant that made the change)] of a row."""
    if change == "equal_work":
        return [(gain_per_pair(row, b), f"{b['variant']} at {case_label(b['key'])}") for b in rows if b["status"] == "ok"
                and b["launches"] and b["variant"] == row["variant"] and b["key"] == with_full_mask(row["key"])
                and b["plan"] == row["plan"]]
    if change == "even_waves":
        return [(gain_per_block(row, b), f"{b['variant']} at {case_label(b['key'])}")
                for b in rows if b["status"] == "ok" and b["launches"] and fills_its_waves(row, b)]
    return [(reports.hot_us(row) / reports.hot_us(b), b["variant"]) for b in rows if made(change, row, b)]


# ---- promises ---------------------------------------------------------------------------------------------------

def variant_of(line):
    """The variant that a journal's line is about, None for lines about the run."""
    entry = json.loads(line)
    return next((part["variant"] for part in entry.values() if isinstance(part, dict) and "variant" in part), None)


def promises_alone(journal, attnbench):
    """{(key, variant): findings} of reports that hold one variant each."""
    lines = [(line, variant_of(line)) for line in journal.read_text(encoding="utf-8").splitlines()]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        alone = pathlib.Path(folder) / journal.name
        for variant in dict.fromkeys(v for _, v in lines if v is not None):
            alone.write_text("".join(f"{line}\n" for line, v in lines if v in (None, variant)), encoding="utf-8")
            for row in json.loads(reports.from_journal(alone, attnbench))["results"]:
                found[row["key"], row["variant"]] = row["findings"]
    return found


Promise = collections.namedtuple("Promise", "sweep row change finding promised measured by")


def promises_of(journal, attnbench):
    """One per row and change; measured and by are None where no row made the change."""
    rows = json.loads(reports.from_journal(journal, attnbench))["results"]
    alone = promises_alone(journal, attnbench)
    for row in rows:
        seen = set()
        for finding in alone.get((row["key"], row["variant"]), []):
            change = finding["change"]
            if change is None or finding["gain_ratio"] is None or change in seen or row["status"] != "ok":
                continue
            seen.add(change)
            measured, by = max(gains(change, row, rows), default=(None, None))
            yield Promise(journal.stem, row, change, finding["id"], finding["gain_ratio"], measured, by)


def is_right(promise):
    return 1 / WITHIN <= promise.promised / promise.measured <= WITHIN


def has_wrong_sign(promise):
    return promise.measured < 1 < promise.promised


# ---- the page ---------------------------------------------------------------------------------------------------

def summary(promises):
    lines = []
    for change in [*CHANGES, "even_waves", "equal_work"]:
        of = [p for p in promises if p.change == change]
        held = [p for p in of if p.measured]
        if of:
            gains = [p.measured for p in held]
            lines.append([f"`{change}`", ", ".join(f"`{i}`" for i in sorted({p.finding for p in of})), len(of), len(held),
                          sum(map(is_right, held)), sum(map(has_wrong_sign, held)),
                          f"{ratio(min(gains))} to {ratio(max(gains))}" if gains else "-"])
    return table(["change", "findings", "promises", "measured", f"within {WITHIN}x", "wrong sign", "measured gains"], lines,
                 ["promises", "measured", f"within {WITHIN}x", "wrong sign"])


def page_of(promises):
    held = [p for p in promises if p.measured]
    off = [p for p in held if not is_right(p)]
    rows = [[p.sweep, case_label(p.row["key"]), f"`{p.row['variant']}`", f"`{p.change}`", ratio(p.promised), ratio(p.measured),
             f"`{p.by}`"] for p in off]
    return "\n\n".join([
        "# Promises of the diagnosis against measurements",
        "`scripts/proof/check_advice.py` writes this page from the journals here. A promise is what a finding says its change gains, "
        "in a report that holds the row's variant alone; it is measured by the fastest row of the same case that made the change "
        "and kept the rest: a setting of the same variant that differs in that tunable, or a variant whose plan agrees in all "
        "that the change does not touch. The promise of `even_waves` is measured by the same launch of the same variant at a larger "
        f"B*H that leaves at most {100 * FULL_WAVE_IDLE:.0f} % of its slots idle: the ratio of the times per block. "
        "That of `equal_work`, of a causal mask, is measured by the same plan of the same variant without the mask, where all q "
        "tiles have as many keys: the ratio of the times per pair of a query and a key that it sees. "
        "Constants of the model (`cli/analyse/gain.c`) were fitted to some of these rows.",
        f"{len(promises)} promises; for {len(held)} a row made the change: {sum(map(is_right, held))} of these "
        f"({percent(sum(map(is_right, held)) / max(len(held), 1))}) are within a factor of {WITHIN}, "
        f"{sum(map(has_wrong_sign, held))} have the wrong sign.",
        summary(promises),
        "## Promises off by more",
        table(["sweep", "case", "variant", "change", "promised", "measured", "by"], rows, ["promised", "measured"]),
    ]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is out of date")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "results/h200",
                        help="journals, and the page (default: results/h200)")
    parser.add_argument("--attnbench", default=os.environ.get("ATTNBENCH", str(ROOT / "attnbench")), help="the program")
    options = parser.parse_args()
    if not os.access(options.attnbench, os.X_OK):
        raise Failure(INTERNAL, f"{options.attnbench} is missing; run make")
    promises = [p for journal in sorted(options.folder.glob("*.journal")) for p in promises_of(journal, options.attnbench)]
    text, path = page_of(promises), options.folder / "advice.md"
    stale = not path.exists() or path.read_text(encoding="utf-8") != text
    if stale and not options.check:
        files.write_whole(path, text)
    held = [p for p in promises if p.measured]
    right, wrong = sum(map(is_right, held)), sum(map(has_wrong_sign, held))
    print(f"{right} of {len(held)} promises within a factor of {WITHIN}, {wrong} with the wrong sign")
    if stale and options.check:
        print(f"differs: {path}; run scripts/proof/check_advice.py")
    return REGRESSION if (stale and options.check) or wrong or right < RIGHT_MIN * len(held) else 0


if __name__ == "__main__":
    program.run_main(main)
