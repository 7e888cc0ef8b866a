#!/usr/bin/env python3
"""Does `auto` pick the fastest variant? Its picks are held against the rows of journals in which variants were measured
beside each other: for each case what is picked, what was fastest of the variants here (vendors' libraries left out), and
what the pick loses, in percent of the fastest hot median.

  scripts/proof/check_auto.py                      the journals of results/h200
  scripts/proof/check_auto.py --gpu a100 FILE...   of these, with what would be picked on an A100: variants that it does
                                                   not run are left out, so an H200's rows stand for what it has

Exit code: 0 every pick that was measured is within --bar percent (default: 2) of the fastest; 1 one is not; 4 no pick
was measured; 7 a journal is not readable; 9 attnbench is missing.
"""
import argparse
import collections
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import program, reports
from lib.program import COVERAGE, REGRESSION, ROOT, Failure
from lib.tables import microseconds, table

PICKER = "auto"
LESS_PRECISE = "tf32x3=1"

Row = collections.namedtuple("Row", "sweep key pick pick_us fastest fastest_us loss")


def built_in(attnbench):
    """The names of the variants that the program has without loading any."""
    return {variant["name"] for variant in json.loads(program.execute([attnbench, "list", "--json"]).stdout)["variants"]}


def measured(report, names):
    """{key: {variant: row}} of a report's right rows of these variants, without vendors' and those of `auto` itself, and
    without an option that gives up some of fp32's precision, which nobody gets unasked."""
    cases = {}
    for row in report["results"]:
        name, _, tuning = row["variant"].partition(":")
        own = name in names and name != PICKER and LESS_PRECISE not in tuning and not reports.is_vendors(row)
        if row["status"] == "ok" and row["time"]["hot"] and own:
            cases.setdefault(row["key"], {})[row["variant"]] = row
    return cases


def plan(attnbench, gpu, keys, variants):
    """The rows that attnbench plans for a GPU, by (key, variant)."""
    with tempfile.TemporaryDirectory() as folder:
        sweep, out = pathlib.Path(folder) / "cases.json", pathlib.Path(folder) / "plan.json"
        sweep.write_text(json.dumps({"attnbench_sweep": 1, "name": "cases", "shapes": keys, "variants": variants}), encoding="utf-8")
        done = program.execute([attnbench, "plan", "--quiet", "--sweep", sweep, "--gpu", gpu, "--json", out])
        if not out.exists():
            raise Failure(program.code_of(done.returncode), f"attnbench plan ended with {done.returncode}: {done.stderr.strip()}")
        return {(row["key"], row["variant"]): row for row in json.loads(out.read_text(encoding="utf-8"))["results"]}


def held_against(journals, gpu, attnbench):
    """A Row per case and journal; pick_us is None where that journal did not measure the pick."""
    names = built_in(attnbench)
    sweeps = [(path.stem, measured(reports.read(path, attnbench), names)) for path in journals]
    for sweep, cases in sweeps:
        variants = sorted({variant for rows in cases.values() for variant in rows})
        planned = plan(attnbench, gpu, sorted(cases), [PICKER, *variants]) if cases else {}
        for key, rows in cases.items():
            here = {variant: row for variant, row in rows.items() if same_tiles(planned[key, variant], row)}
            pick = planned[key, PICKER].get("picked", "nothing")
            cost = costs(here)
            fastest = min(cost, key=cost.get, default=None)
            if fastest:
                loss = cost[pick] / cost[fastest] - 1 if pick in here else None
                pick_us = reports.hot_us(here[pick]) if pick in here else None
                yield Row(sweep, key, pick, pick_us, fastest, reports.hot_us(here[fastest]), loss)


def same_tiles(planned, row):
    """Whether the kernel that is planned is the one that was measured: a variant may choose other tiles on another GPU, or since."""
    return planned["status"] == "planned" and all(planned["plan"][key] == row["plan"][key] for key in ("tile_q", "tile_kv", "splits"))


def costs(rows):
    """{variant: a time} to compare by. Ratios to the reference were measured in turns, so a clock that changed between two rows
    is in both halves of each; hot times are taken where a row has none."""
    if all(reports.speedup(row) for row in rows.values()):
        return {variant: 1 / reports.speedup(row) for variant, row in rows.items()}
    return {variant: reports.hot_us(row) for variant, row in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journals", nargs="*", type=pathlib.Path, help="journals or reports (default: those of results/h200)")
    parser.add_argument("--gpu", default="h200", help="the GPU that is picked for, as `attnbench plan` names it (default: h200)")
    parser.add_argument("--bar", type=float, default=2.0, metavar="PERCENT", help="the loss that is too much (default: 2)")
    program.add_attnbench_option(parser)
    options = parser.parse_args()
    program.require_program(options.attnbench)
    journals = options.journals or sorted((ROOT / "results/h200").glob("*.journal"))
    rows = list(held_against(journals, options.gpu, options.attnbench))
    held = [row for row in rows if row.pick_us]
    print(table(["sweep", "case", "picked", "us", "fastest here", "us", "loss"],
                [[row.sweep, row.key, row.pick, microseconds(row.pick_us), row.fastest, microseconds(row.fastest_us),
                  f"{100 * row.loss:.1f} %"] for row in held], ["us", "loss"]))
    missing = len(rows) - len(held)
    if missing:
        print(f"\n{missing} cases whose journal did not measure the pick: " +
              ", ".join(sorted({f"{row.sweep} ({row.pick})" for row in rows if not row.pick_us})))
    if not held:
        raise Failure(COVERAGE, f"none of the picks for {options.gpu} was measured; measure the sweep with {PICKER}'s picks among "
                                "its variants")
    over = [row for row in held if 100 * row.loss > options.bar]
    worst = max(held, key=lambda row: row.loss)
    print(f"\n{len(held) - len(over)} of {len(held)} picks are within {options.bar:g} % of the fastest; worst: {worst.pick} at "
          f"{worst.key}, {100 * worst.loss:.1f} % behind {worst.fastest}")
    return REGRESSION if over else 0


if __name__ == "__main__":
    program.run_main(main)
