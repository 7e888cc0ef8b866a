#!/usr/bin/env python3
"""Does an unrelated change of the code change the times that attnbench measures? Several builds of one program, in turns.

  scripts/proof/build_bias.py --sweep shapes/gate.json --json results/h200/builds.json $(make -s builds)

`make builds` links the same objects in other orders, and some sources of kernels also contain kernels that nobody calls. So
code lies at other addresses in every build. Each round runs every build once; every second round runs them in reverse. A
process measures all cells as a gate does (--quick). For each row, the variance between the builds' means is compared with
that between processes of one build (one-way analysis of variance). The bias of a build is a standard deviation, the square
root of (variance of the means - variance of processes / rounds); where that is negative, the estimate is 0. `chance` is the
p value of a permutation test: the share of --draws random assignments of the medians to builds whose F ratio is as large.
Over all rows the bias is also given as a share of the standard deviation of a row's processes: sqrt((m - 1) / rounds), or 0
where m is below 1. m is the mean over the rows of a row's F ratio divided by the mean F ratio of its own permutations. The
upper bound is the 95th percentile of this share over --draws bootstrap samples of the rows.

Tables go to stdout as Markdown and to --json (attnbench.table/1).

Exit code: 0 measured, whatever was found; 2 usage; 8 --json cannot be written; 9 a program cannot be run, or no row was
timed; else what the first process that failed ended with.
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
    parser.add_argument("--sweep", required=True, metavar="FILE", help="what each process measures")
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


def f_ratio(between, within):
    return between / within if within > 0 else float("inf")


def permuted(groups, draws, chances):
    """The F ratios of the medians when they are dealt to the builds by chance."""
    size, values, ratios = len(groups[0]), [value for group in groups for value in group], []
    for _ in range(draws):
        chances.shuffle(values)
        ratios.append(f_ratio(*variances([values[i:i + size] for i in range(0, len(values), size)])))
    return ratios


def root(variance):
    """Of a variance that is a difference: chance alone makes it negative half of the time."""
    return max(variance, 0.0) ** 0.5


class Row:
    """What is found of one row. bias and noise are variances in squares of percents, of a build and of a process; share is
    the F ratio over its mean in the permutations."""

    def __init__(self, name, groups, draws, chances):
        self.key, self.variant, self.mode = name
        values = [value for group in groups for value in group]
        center = statistics.fmean(values)
        relative = [[100 * value / center for value in group] for group in groups]
        means = [statistics.fmean(group) for group in relative]
        between, self.noise = variances(relative)
        self.bias = (between - self.noise) / len(groups[0])
        self.median_us, self.farthest = statistics.median(values), max(means) - min(means)
        own, ratios = f_ratio(between, self.noise), permuted(relative, draws, chances)
        finite = [ratio for ratio in ratios if ratio < float("inf")]
        self.share = own / (statistics.fmean(finite) if finite else 1.0)
        self.chance = (sum(ratio >= own for ratio in ratios) + 1) / (draws + 1)

    def label(self):
        return f"`{self.variant}`", case_label(self.key), self.mode

    def cells(self):
        return [*self.label(), self.median_us, root(self.noise), root(self.bias), self.farthest, self.chance]


def share_of_noise(ratios, rounds, draws, chances):
    """The bias over all rows as a share of the noise, and what it does not exceed in 95 % of the samples of rows."""
    means = sorted(statistics.fmean(chances.choices(ratios, k=len(ratios))) for _ in range(draws))
    return tuple(root((mean - 1) / rounds) for mean in (statistics.fmean(ratios), means[int(0.95 * (draws - 1))]))


COLUMNS = ["variant", "case", "mode", "median us", "sd of processes %", "bias of a build %", "farthest builds %", "chance"]


def document_of(args, medians, rows, report, share):
    device, processes = report["device"], len(args.programs) * args.rounds
    bias, noise = (root(statistics.fmean(getattr(row, of) for row in rows)) for of in ("bias", "noise"))
    first = rows[0]
    summary = [
        ["bias of a build over all rows", f"{bias:.2f} %", f"processes of one build differ by {noise:.2f} %"],
        ["bias of a build as a share of the standard deviation of processes, each row by its own", f"{share[0]:.2f}", f"at most {share[1]:.2f} (95 %)"],
        [f"rows with a chance below {SMALL_CHANCE:g}", f"{sum(row.chance < SMALL_CHANCE for row in rows)} of {len(rows)}",
         f"{SMALL_CHANCE * len(rows):.1f} are expected without any bias"],
        ["bias of a build in the row with the smallest chance", f"{root(first.bias):.2f} %", f"{', '.join(first.label())}; chance {first.chance:.2g}"],
    ]
    return {"schema": "attnbench.table/1", "title": "Does an unrelated change move the measurement?",
            "about": f"{len(args.programs)} builds of one program (`make builds`: their objects are linked in other orders, and five sources of kernels also contain "
                     f"kernels that nobody calls), {processes} processes in turns, sweep `{report['sweep']['name']}` on {device['name']} "
                     f"(driver {device['driver']}, attnbench {report['tool']['git_commit']}). Made by `scripts/proof/build_bias.py`.",
            "columns": ["what", "found", "detail"], "rows": summary,
            "tables": [{"title": "By row", "columns": COLUMNS, "rows": [row.cells() for row in rows]}],
            "notes": ["Bias is a standard deviation. Its square is estimated as the variance of the builds' means less the variance of processes over the rounds. A "
                      "negative estimate is shown as 0, so single rows lie above 0 by chance alone.",
                      "`farthest builds`: the difference between the means of two builds, noise included. `chance`: how often medians that are dealt to the builds at "
                      "random differ as much."],
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
    rows = [Row(name, groups, args.draws, chances) for name, groups in medians.items()]
    share = share_of_noise([row.share for row in rows], args.rounds, args.draws, chances)
    document = document_of(args, medians, sorted(rows, key=lambda row: row.chance), report, share)
    if args.json:
        files.write_whole(args.json, files.json_text(document))
    if args.json != "-":
        files.write_whole("-", section(document))
    return 0


if __name__ == "__main__":
    program.run_main(main)
