#!/usr/bin/env python3
"""Slows kernels down inside their launch, many at once, and asks whether the gate finds them.

  make slowed                                   # prints OBJECT: our kernels with a spin at their end, tests/slowed/plugin.cu
  scripts/proof/slowed_trials.py --object OBJECT --cells tests/slowed/cells.txt --log trials.jsonl --seconds 200

A trial is one gate of some of the cells, `attnbench ab` of the object against itself: the base's copy never spins, and the
candidate's spins for some SM clocks in most of them, in other cells and by other amounts in each trial. What that costs is
measured beside it, hot and cold, in turns with the same kernel that does not spin. Every trial is a line of the log as soon
as it ends, so that a run that is cut off loses one trial at most; a log that exists is added to.
scripts/proof/gate_trials.py makes the table.

With --each every trial is a whole gate of all cells, as `ab` takes it, of which one is slowed by as much as is said: each in
turn. It ends with 1 where one of these was not found in either mode.

  scripts/proof/slowed_trials.py --object OBJECT --cells tests/slowed/gate_cells.txt --log each.jsonl --each 3 --seconds 1500

--cells names a cell per line, KEY NAME, where NAME may have tunables; lines with # are comments.

Exit code: 0 the trials are in the log; 1 --each: a slowdown was missed; 2 usage; 7 the cells cannot be read; 8 the log cannot be written; else what the first
program that failed ended with.
"""
import argparse
import json
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import files, program
from lib.program import COVERAGE, INPUT, INTERNAL, OUTPUT, REGRESSION, Failure, execute

# Of the mean of hot and cold time, smaller ones for long kernels: below 8 us the gate's floor in microseconds is above
# its threshold in percent.
PERCENTS = {8.0: (1.5, 3.5, 5.0, 8.0), float("inf"): (1.0, 2.0, 3.0, 5.0)}
CLOCK_MHZ = 1980.0  # assumed for the first guess; later trials know what a cell's cycles have cost
GAIN_LIMITS = 0.25, 4.0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--object", required=True, metavar="FILE", help="what `make slowed` built")
    parser.add_argument("--cells", required=True, metavar="FILE", help="the cells of every gate")
    parser.add_argument("--log", required=True, metavar="FILE", help="add every trial to this file")
    parser.add_argument("--seconds", type=float, default=200.0, metavar="S", help="begin no trial that would end later (default: 200)")
    parser.add_argument("--trials", type=int, metavar="N", help="at most so many (default: as many as there is time for)")
    parser.add_argument("--size", type=int, default=10, metavar="N", help="cells of a trial (default: 10)")
    parser.add_argument("--share", type=float, default=0.7, metavar="X", help="of these that are slowed (default: 0.7)")
    parser.add_argument("--each", type=float, metavar="PERCENT", help="slow one cell of the whole gate by this, each in turn")
    parser.add_argument("--rounds", type=int, metavar="N", help="pairs of processes of a gate (default: 5; with --each as many as ab takes)")
    parser.add_argument("--device", default="cuda", help="where to measure (default: cuda)")
    program.add_attnbench_option(parser)
    args = parser.parse_args()
    if args.size < 1:
        parser.error(f"--size: {args.size} is not 1 or more")
    if not 0 < args.share <= 1:
        parser.error(f"--share: {args.share:g} is not above 0 and at most 1")
    if args.each is not None and not 0 < args.each <= 100:
        parser.error(f"--each: {args.each:g} is not above 0 and at most 100")
    if args.each is None and args.rounds is None:
        args.rounds = 5
    return args


# ---- cells and what is known of them ----------------------------------------------------------------------------

class Cell:
    def __init__(self, key, name):
        self.key, self.name = key, name
        self.us = self.gain = None  # mean of its hot and cold time; microseconds that a cycle has cost

    def variant(self, kind):
        return f"{kind}_{self.name}"

    def only(self, kind):
        return ["--only", f"{self.key}/{self.variant(kind)}"]


def read_cells(path):
    try:
        lines = [line.split() for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        cells = [Cell(*words) for words in lines if words]
    except (OSError, ValueError, TypeError) as error:
        raise Failure(INPUT, f"{path}: not lines of KEY NAME: {error}") from error
    if not cells:
        raise Failure(INPUT, f"{path}: names no cell")
    return cells


def read_log(path):
    if not pathlib.Path(path).exists():
        return []
    try:
        return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise Failure(INPUT, f"{path}: not a log of earlier trials: {error}; name another file") from error


def learn(cells, trial):
    """What cycles have cost so far, of each cell."""
    known = {(cell.key, cell.name): cell for cell in cells}
    for one in trial["slowed"]:
        cell, truth = known.get((one["key"], one["name"])), one.get("hot")
        if cell is not None and cell.us and truth and one["cycles"]:
            cell.gain = truth["added_us"] / one["cycles"]


# ---- one trial --------------------------------------------------------------------------------------------------

class Bench:
    """Two copies of the object, of which one has a file of cycles beside it; and a sweep of all cells."""

    def __init__(self, args, cells, folder):
        self.args, self.cells, self.folder = args, cells, folder
        self.base, self.new = folder / "base" / "slowed.so", folder / "new" / "slowed.so"
        for path in (self.base, self.new):
            path.parent.mkdir()
            shutil.copyfile(args.object, path)
        self.sweep = folder / "sweep.json"
        names = sorted({cell.name for cell in cells})
        self.sweep.write_text(json.dumps({
            "attnbench_sweep": 1, "name": "slowed", "shapes": list(dict.fromkeys(cell.key for cell in cells)),
            "variants": [f"{kind}_{name}" for name in names for kind in ("steady", "slowed")]}), encoding="utf-8")

    def measure(self, cells, reference):
        """Rows of the cells' slowed variants, in one process."""
        path = self.folder / "rows.json"
        path.unlink(missing_ok=True)
        done = execute([self.args.attnbench, "--sweep", self.sweep, "--load", self.new, "--device", self.args.device, "--quick",
                        "--reference", reference, "--json", path, *(word for cell in cells for word in cell.only("slowed"))])
        if not path.exists():
            raise Failure(done.returncode or INTERNAL, f"attnbench ended with {done.returncode}: {program.last_lines(done)}")
        report = files.read_json(path)
        for row in report["results"]:
            if row["status"] != "ok":
                print(f"left out: {row['key']} {row['variant']}: {row['status']}, {row['reason']}", flush=True)
        return report, {(row["key"], row["variant"]): row for row in report["results"] if row["status"] == "ok"}

    def size_cells(self):
        """How long each takes; cells that are not right here are left out."""
        self.write_cycles({})
        report, rows = self.measure(self.cells, "none")
        for cell in self.cells:
            row = rows.get((cell.key, cell.variant("slowed")))
            if row is not None:
                cell.us = statistics.mean(row["time"][mode]["median_us"] for mode in ("hot", "cold"))
        self.cells = [cell for cell in self.cells if cell.us is not None]
        if not self.cells:
            raise Failure(COVERAGE, "no cell is right on this device")
        return report

    def write_cycles(self, cycles):
        # The object looks for a kernel whatever its tunables.
        lines = [f"{cell.key} {cell.name.split(':')[0]} {count}\n" for cell, count in cycles.items()]
        (self.new.parent / "slowed.so.cycles").write_text("".join(lines), encoding="utf-8")

    def truth(self, cycles):
        """What each slowed cell costs now, in turns with the kernel that does not spin."""
        out = []
        for name in sorted({cell.name for cell in cycles}):
            cells = [cell for cell in cycles if cell.name == name]
            _, rows = self.measure(cells, f"steady_{name}")
            for cell in cells:
                row = rows.get((cell.key, cell.variant("slowed")))
                truth = {mode: truth_of(row, mode) for mode in ("hot", "cold")} if row is not None else {}
                out.append({"key": cell.key, "name": name, "cycles": cycles[cell], **truth})
        return out

    def gate(self, cells, number):
        path = self.folder / "comparison.json"
        path.unlink(missing_ok=True)
        command = [self.args.attnbench, "ab", "--base-load", self.base, "--load", self.new, "--sweep", self.sweep, "--device",
                   self.args.device, "--quiet", "--compare-json", path, "--base-json", self.folder / f"base-{number}.json"]
        if self.args.rounds is not None:
            command += ["--rounds", self.args.rounds]
        done = execute(command + [word for cell in cells for word in cell.only("slowed")])
        if not path.exists():
            raise Failure(done.returncode or INTERNAL, f"attnbench ab ended with {done.returncode}: {program.last_lines(done)}")
        return done.returncode, files.read_json(path)


def truth_of(row, mode):
    """The reference's time over the row's is below 1 where the row spins."""
    ratio, us = row["speedup_vs"][mode], row["time"][mode]["median_us"]
    slower = 1 / ratio["ratio"]
    own_us = us - (ratio.get("event_overhead_us") or 0)
    return {"ratio": slower, "low": 1 / ratio["ci95_high"], "high": 1 / ratio["ci95_low"], "us": us,
            "added_us": own_us * (1 - ratio["ratio"])}


def cycles_for(cell, percent):
    per_cycle = 1 / CLOCK_MHZ
    if cell.gain is not None and GAIN_LIMITS[0] < cell.gain / per_cycle < GAIN_LIMITS[1]:
        per_cycle = cell.gain
    return max(round(percent / 100 * cell.us / per_cycle), 1)


def choose(cells, share, random_number):
    """Cycles of the cells that are slowed this time."""
    chosen = random_number.sample(cells, round(share * len(cells)))
    cycles = {}
    for place, cell in enumerate(chosen):
        percents = next(values for most, values in PERCENTS.items() if cell.us < most)
        cycles[cell] = cycles_for(cell, percents[place % len(percents)])
    return cycles


def slow_one(bench, number):
    """The next cell in turn. What a cycle costs is not known before it was tried, so that the second try is the right one."""
    cell = bench.cells[number % len(bench.cells)]
    for _ in range(3):
        cycles = {cell: cycles_for(cell, bench.args.each)}
        bench.write_cycles(cycles)
        slowed = bench.truth(cycles)
        learn([cell], {"slowed": slowed})
        truth = slowed[0].get("hot")
        if truth is None or abs(100 * (truth["ratio"] - 1) - bench.args.each) < bench.args.each / 10:
            break
    return bench.cells, slowed


def row_of(row):
    keys = ("key", "variant", "mode", "verdict", "threshold_ratio", "time_ratio", "bound_low_ratio", "first_time_ratio", "reason")
    return {key: row.get(key) for key in keys}


def try_once(bench, number):
    start, random_number = time.monotonic(), random.Random(number)
    if bench.args.each is not None:
        cells, slowed = slow_one(bench, number)
    else:
        cells = random_number.sample(bench.cells, min(bench.args.size, len(bench.cells)))
        cycles = choose(cells, bench.args.share, random_number)
        bench.write_cycles(cycles)
        slowed = bench.truth(cycles)
    truth_s = time.monotonic() - start
    code, comparison = bench.gate(cells, number)
    return {"number": number, "slowed": slowed, "exit_code": code, "truth_s": round(truth_s, 2),
            "wall_s": round(time.monotonic() - start - truth_s, 2), "suite": comparison["suite"], "summary": comparison["summary"],
            "settings": comparison["settings"], "rows": [row_of(row) for row in comparison["rows"]]}


def is_found(trial):
    """Whether the gate failed for the cell that was slowed, in either mode."""
    slowed = trial["slowed"][0]
    return any(row["verdict"] in ("regressed", "cycles") for row in trial["rows"]
               if (row["key"], row["variant"]) == (slowed["key"], f"slowed_{slowed['name']}"))


def keep_base(bench, number):
    """The base's processes, which nothing slows, beside the log: what drawn gates are drawn from."""
    source = bench.folder / f"base-{number}.json"
    if source.exists():
        files.copy_whole(source, f"{bench.args.log}.base-{number}.json")


def main():
    args, start = parse_arguments(), time.monotonic()
    cells, earlier = read_cells(args.cells), read_log(args.log)
    files.check_output(args.log)
    program.require_program(args.attnbench)
    with tempfile.TemporaryDirectory(prefix="slowed_trials.") as name:
        bench = Bench(args, cells, pathlib.Path(name))
        report = bench.size_cells()
        for trial in earlier:
            learn(cells, trial)
        longest, number = 0.0, len(earlier)
        missed = sum(not is_found(trial) for trial in earlier) if args.each is not None else 0
        end = None if args.trials is None else number + args.trials
        if args.each is not None:
            end = min(end or len(bench.cells), len(bench.cells))
        while number != end and time.monotonic() - start + longest < args.seconds:
            begun = time.monotonic()
            trial = {**try_once(bench, number), "device": report["device"]["name"], "driver": report["device"]["driver"],
                     "commit": report["tool"]["git_commit"]}
            try:
                with open(args.log, "a", encoding="utf-8") as log:
                    log.write(json.dumps(trial) + "\n")
            except OSError as error:
                raise Failure(OUTPUT, f"{args.log}: cannot be written: {error.strerror}") from error
            keep_base(bench, number)
            learn(cells, trial)
            number += 1
            longest = max(longest, time.monotonic() - begun)
            verdicts = sum(row["verdict"] == "regressed" for row in trial["rows"])
            if args.each is not None:
                missed += not is_found(trial)
            print(f"trial {number}: {len(trial['slowed'])} cells slowed, {verdicts} rows regressed, exit code {trial['exit_code']}, "
                  f"{trial['truth_s']} + {trial['wall_s']} s", flush=True)
    if missed > 0:
        print(f"{missed} of {number} slowdowns were missed", flush=True)
    return REGRESSION if missed > 0 else 0


if __name__ == "__main__":
    program.run_main(main)
