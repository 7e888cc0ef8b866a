#!/usr/bin/env python3
"""Does an unrelated change of the code move what attnbench measures? Several builds of one program, in turns.

  make builds
  scripts/proof/build_bias.py --sweep shapes/gate.json --json results/h200/builds.json BUILD/builds/*/attnbench

`make builds` links the same objects in other orders and adds kernels that nobody calls, so that code lies elsewhere in
every build. Each round runs every build once, in an order that is turned around from round to round; a process measures
all cells as a gate does (--quick). For each row, the variance of the builds' means is held against that of processes of
one build (one-way analysis of variance). What is left of it is the bias of a build, as a standard deviation. The chance
of as much without any bias comes from --draws permutations of the same medians among the builds.

Tables go to stdout as Markdown and to --json (attnbench.table/1).

Exit code: 0 measured, whatever was found; 2 usage; 8 --json cannot be written; 9 a program cannot be run; else what the
first process that failed ended with.
"""
import argparse
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import files, program
from lib.program import INTERNAL, Failure, execute
from lib.reports import case_label
from lib.tables import section

MODES = ("hot", "cold")
SMALL_CHANCE = 0.01
SEED = 1


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="the builds, three or more")
    parser.add_argument("--sweep", required=True, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="processes of each build (default: 3)")
    parser.add_argument("--draws", type=int, default=5000, metavar="N", help="permutations for each row (default: 5000)")
    parser.add_argument("--device", default="cuda", help="where to measure (default: cuda)")
    parser.add_argument("--json", metavar="FILE", help="write the tables here too")
    args = parser.parse_args()
    if len(args.programs) < 3:
        parser.error("name three builds or more")
    for name, least in (("rounds", 2), ("draws", 100)):
        if getattr(args, name) < least:
            parser.error(f"--{name}: {getattr(args, name)} is less than {least}")
    return args


# ---- measuring --------------------------------------------------------------------------------------------------

def measure(args, path, build):
    path.unlink(missing_ok=True)
    done = execute([build, "--sweep", args.sweep, "--device", args.device, "--quick", "--rounds", "1", "--reference", "none", "--json", path])
    if done.returncode:
        raise Failure(program.code_of(done.returncode), f"{build} ended with {done.returncode}: {program.last_lines(done)}")
    return files.read_json(path)


def measure_all(args, folder):
    """{(key, variant, mode): [[a median for each round] for each build]}, and the last report."""
    medians, report = {}, None
    for number in range(args.rounds):
        builds = list(enumerate(args.programs))
        for which, build in builds if number % 2 == 0 else reversed(builds):
            report = measure(args, folder / "report.json", build)
            for row in (row for row in report["results"] if row["time"]):
                for mode in (mode for mode in MODES if row["time"].get(mode)):
                    of_row = medians.setdefault((row["key"], row["variant"], mode), [[] for _ in args.programs])
                    of_row[which].append(row["time"][mode]["median_us"])
    return medians, report


# ---- what the builds explain -------------------------------------------------------------------------------------

def variances(groups):
    """The mean squares between and within groups of equal sizes."""
    size, means = len(groups[0]), [statistics.fmean(group) for group in groups]
    within = statistics.fmean(statistics.variance(group) for group in groups)
    return size * statistics.variance(means), within


def chance(groups, draws, chances):
    """How often medians that are dealt to the builds by chance differ as much between them."""
    def quotient(of):
        between, within = variances(of)
        return between / within if within > 0 else float("inf")
    size, values, found, least = len(groups[0]), [value for group in groups for value in group], 0, quotient(groups)
    for _ in range(draws):
        chances.shuffle(values)
        found += quotient([values[i:i + size] for i in range(0, len(values), size)]) >= least
    return (found + 1) / (draws + 1)


def row_of(name, groups, draws, chances):
    key, variant, mode = name
    center = statistics.fmean(value for group in groups for value in group)
    relative = [[100 * value / center for value in group] for group in groups]
    between, within = variances(relative)
    means = [statistics.fmean(group) for group in relative]
    return [f"`{variant}`", case_label(key), mode, statistics.median(value for group in groups for value in group), within ** 0.5,
            root((between - within) / len(groups[0])), max(means) - min(means), chance(relative, draws, chances)]


def root(variance):
    """Of a variance that is a difference: chance alone makes it negative half of the time."""
    return max(variance, 0.0) ** 0.5


def overall(groups_of):
    """The bias of a build and the noise of a process over all rows, in percent."""
    both = [variances([[100 * value / statistics.fmean(value for group in groups for value in group) for value in group] for group in groups])
            for groups in groups_of]
    size = len(groups_of[0][0])
    return root(statistics.fmean((between - within) / size for between, within in both)), root(statistics.fmean(within for _, within in both))


COLUMNS = ["variant", "case", "mode", "median us", "sd of processes %", "sd of builds %", "builds apart by %", "chance"]


def document_of(args, medians, rows, report):
    device, processes = report["device"], len(args.programs) * args.rounds
    small = sum(row[-1] < SMALL_CHANCE for row in rows)
    bias, noise = overall(list(medians.values()))
    summary = [
        ["rows whose builds differ more than chance allows", f"{small} of {len(rows)}", f"chance below {SMALL_CHANCE:g}; {SMALL_CHANCE * len(rows):.1f} are expected without any bias"],
        ["bias of a build, over all rows", f"{bias:.2f} %", f"beside {noise:.2f} % between processes of one build"],
        ["largest bias of a row", f"{max(row[5] for row in rows):.2f} %", "standard deviation between builds"],
        ["farthest two builds of a row", f"{max(row[6] for row in rows):.2f} %", f"their means of {args.rounds} processes, noise included"],
    ]
    return {"schema": "attnbench.table/1", "title": "Does an unrelated change move the measurement?",
            "about": f"{len(args.programs)} builds of one program (`make builds`: the same objects linked in other orders, with kernels that nobody calls beside "
                     f"those that are measured), {processes} processes in turns, sweep `{report['sweep']['name']}` on {device['name']} "
                     f"(driver {device['driver']}, attnbench {report['tool']['git_commit']}). Made by `scripts/proof/build_bias.py`.",
            "columns": ["what", "found", "detail"], "rows": summary,
            "tables": [{"title": "By row", "columns": COLUMNS, "rows": sorted(rows, key=lambda row: row[-1])}],
            "medians_us": [[*name, groups] for name, groups in medians.items()]}


def main():
    args = parse_arguments()
    for build in args.programs:
        program.require_program(build)
    with tempfile.TemporaryDirectory(prefix="attnbench-builds.") as name:
        medians, report = measure_all(args, pathlib.Path(name))
    if not medians:
        raise Failure(INTERNAL, f"{args.sweep}: no row was timed")
    chances = random.Random(SEED)
    document = document_of(args, medians, [row_of(name, groups, args.draws, chances) for name, groups in medians.items()], report)
    if args.json:
        files.write_whole(args.json, files.json_text(document))
    if args.json != "-":
        files.write_whole("-", section(document))
    return 0


if __name__ == "__main__":
    program.run_main(main)
