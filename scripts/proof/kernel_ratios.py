#!/usr/bin/env python3
"""Kernels alone: how many times longer the reference's kernels last than those of a variant here.

  scripts/profile_sweep.py --tool nsys --sweep shapes/v3.json --variants auto,cudnn --launches 20 --counters v3.json
  scripts/proof/kernel_ratios.py v3.json short.json... --json results/h200/kernels.json

A hot time of attnbench holds the gap between two launches of a graph, which for cuDNN is some 2 us longer. Here are the durations of the
kernels as Nsight Systems saw them, the passes of a launch added up, the mean over its launches: nobody's gap counts. A file's name is
its sweep's. Tables go to stdout as Markdown and to --json (attnbench.table/1).

Exit code: 0; 4 a file has no case that both measured; 7 a file is not counters; 8 the output cannot be written.
"""
import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import files, program
from lib.program import COVERAGE, INPUT, Failure
from lib.reports import REFERENCE, case_label
from lib.tables import table_blocks


def kernel_times(path):
    """{key: {variant: microseconds of its kernels in one launch}} of a file of counters."""
    document = files.read_json(path)
    if not isinstance(document, dict) or document.get("schema") != "attnbench.counters/1":
        raise Failure(INPUT, f"{path}: not counters; scripts/profile_sweep.py --counters writes them")
    cases = {}
    for row in document["rows"]:
        if any("gpu_time_us" not in one for one in row["passes"]):
            raise Failure(INPUT, f"{path}: {row['key']} {row['variant']} has no gpu_time_us; count it with nsys")
        cases.setdefault(row["key"], {})[row["variant"]] = sum(one["gpu_time_us"] for one in row["passes"])
    return cases, document["source"]


def both(path):
    """([(key, variant, its us, the reference's us)] of the cases that both have, the profiler's name)."""
    cases, source = kernel_times(path)
    rows = [(key, name, us, times[REFERENCE]) for key, times in cases.items() if REFERENCE in times
            for name, us in times.items() if name != REFERENCE]
    if not rows:
        raise Failure(COVERAGE, f"{path}: no case has the kernels of {REFERENCE} and of a variant here; profile both")
    return rows, source


def summary(sweep, rows):
    ratios = {key: theirs / us for key, _, us, theirs in rows}
    least = min(ratios, key=ratios.get)
    return [sweep, rows[0][1], len(ratios), statistics.geometric_mean(ratios.values()), ratios[least], case_label(least),
            sum(value < 1 for value in ratios.values())]


def tables(sweeps, sources):
    cases = [[sweep, case_label(key), name, us, theirs, theirs / us]
             for sweep, rows in sweeps for key, name, us, theirs in rows]
    return {"schema": "attnbench.table/1", "title": "Kernels alone, without the gaps between launches",
            "about": f"Durations of the kernels by {' and '.join(sorted(sources))}, the mean of one process's launches, clocks "
                     f"left alone. Ratio: {REFERENCE}'s kernels over those here; above 1 the kernels here are faster. "
                     "`scripts/proof/kernel_ratios.py`",
            "columns": ["sweep", "variant", "cases", "geometric mean", "least", "of", "cases below 1"],
            "rows": [summary(*one) for one in sweeps],
            "tables": [{"title": "Case by case", "columns": ["sweep", "B,H,S,D", "variant", "us", f"{REFERENCE} us", "ratio"],
                        "rows": sorted(cases, key=lambda row: (row[0], row[5]))}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counters", nargs="+", type=pathlib.Path, help="counters of one sweep each, by nsys")
    parser.add_argument("--json", metavar="FILE", help="write the tables here")
    options = parser.parse_args()
    if options.json:
        files.check_output(options.json)
    sweeps, sources = [], set()
    for path in options.counters:
        rows, source = both(path)
        sweeps.append((path.stem, rows))
        sources.add(source)
    document = tables(sweeps, sources)
    print("\n\n".join(table_blocks(document, "the table")))
    if options.json:
        files.write_whole(options.json, files.json_text(document))
    return 0


if __name__ == "__main__":
    program.run_main(main)
