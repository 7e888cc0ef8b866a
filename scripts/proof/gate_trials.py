#!/usr/bin/env python3
"""Tries the gate for real: many gates of a program against itself, and many with one case slowed down on purpose.

  scripts/proof/gate_trials.py --sweep shapes/gate.json --json results/h200/gate.json

A trial is one `attnbench ab --base SAME_PROGRAM`: fresh processes in ABBA order, suspects measured again. Trials without
a change judge every case in both modes and must end with 0; one that ends with 1 is a false alarm, one with 5 did not
decide. A slowed trial puts --inject-slowdown on one case of the candidate, another one each time, longest first, judges
the hot times of that variant's cases, and must end with 1 naming that case and no other. Cases shorter than --least-us
are left out: the delay is a launch of its own, which cannot be short enough for them. A trial whose delay could not be
set to the wanted size does not count, and another takes its place.

--in-launch FILE adds what scripts/proof/slowed_trials.py logged: slowdowns inside the launch, hot and cold, of shorter
kernels and many at once. A slowed row counts as found when the gate calls it slower; what it truly costs was measured beside
the gate, in turns with the same kernel.

--apart BASE NEW adds what `attnbench compare` says of two reports of one program from different days, cards or hosts.

Several GPUs run trials side by side, one trial on one GPU. From --processes measured processes, or from a report of many
(--evidence), `attnbench gate --selftest` draws thousands of gates, whose rates go into the same file (schema
attnbench.table/1). A run that was cut short leaves FILE.trials, which --resume continues.

Exit code: 0 no false alarm and every slowdown found; 1 a false alarm or a missed slowdown; 2 usage; 4 no case can be
slowed; 7 --evidence or --resume cannot be read; 8 --json cannot be written; else what the first trial that could not run
ended with.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import files, program
from lib.program import COVERAGE, INCONCLUSIVE, INPUT, INTERNAL, REGRESSION, Failure, execute


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweep", required=True, metavar="FILE")
    parser.add_argument("--json", required=True, metavar="FILE", help="write the rates and every trial here")
    parser.add_argument("--same", type=int, default=40, metavar="N", help="trials without a change (default: 40)")
    parser.add_argument("--slowed", type=int, default=20, metavar="N", help="trials with one case slowed (default: 20)")
    parser.add_argument("--percent", type=float, default=3.0, metavar="PERCENT", help="size of the slowdown (default: 3)")
    parser.add_argument("--rounds", type=int, metavar="N", help="pairs of processes of a gate (default: as many as ab takes, 3 to 7)")
    parser.add_argument("--least-us", type=float, default=45.0, metavar="US", help="slow only cases that take this long (default: 45)")
    parser.add_argument("--gpus", default="0", metavar="A,B", help="numbers of the GPUs to use (default: 0)")
    parser.add_argument("--processes", type=int, default=28, metavar="N", help="processes to draw gates from; 0 draws none (default: 28)")
    parser.add_argument("--evidence", metavar="FILE", help="a report of many processes to draw from instead")
    parser.add_argument("--in-launch", metavar="FILE", help="a log of scripts/proof/slowed_trials.py")
    parser.add_argument("--apart", nargs=2, action="append", default=[], metavar=("BASE", "NEW"),
                        help="compare these reports of one program; repeat for more")
    parser.add_argument("--resume", metavar="FILE", help="continue from the FILE.trials of a run that was cut short")
    program.add_attnbench_option(parser)
    args = parser.parse_args()
    for name, value in (("--same", args.same), ("--slowed", args.slowed), ("--processes", args.processes)):
        if value < 0:
            parser.error(f"{name}: {value} is not 0 or more")
    if args.json == "-":
        parser.error("--json: name a file; the trials are kept beside it until all are done")
    if not all(gpu.strip().isalnum() for gpu in args.gpus.split(",")):
        parser.error(f'--gpus: "{args.gpus}" is not a list of GPU numbers such as 0,1')
    return args


# ---- trials -----------------------------------------------------------------------------------------------------

def cells(args, folder):
    """The cells that can be slowed, longest first, as KEY/VARIANT; and a report that holds them."""
    if args.evidence is not None:
        return longest(args, args.evidence)
    path = folder / "cells.json"
    done = execute([args.attnbench, "--sweep", args.sweep, "--quick", "--reference", "none", "--json", path])
    if done.returncode != 0:
        raise Failure(done.returncode, f"the sweep itself ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return longest(args, path)


def longest(args, path):
    report = files.read_json(path)
    try:
        timed = [(r["time"]["hot"]["median_us"], f"{r['key']}/{r['variant']}") for r in report["results"]
                 if r["status"] == "ok" and r["time"]["hot"]["median_us"] >= args.least_us]
    except (KeyError, TypeError) as error:
        raise Failure(INPUT, f"{path}: not a report with hot times; write it with attnbench --json") from error
    return [cell for _, cell in sorted(timed, reverse=True)], report


def rounds(args):
    """The options for them; none: ab decides."""
    return [] if args.rounds is None else ["--rounds", str(args.rounds)]


def trial(args, folder, number, gpu, slowed):
    path = folder / f"trial-{number}-{gpu}.json"
    command = [args.attnbench, "ab", "--base", args.attnbench, "--sweep", args.sweep, *rounds(args),
               "--compare-json", path]
    if slowed is not None:
        command += ["--modes", "hot", "--variants", slowed.split("/", 1)[1], "--inject-slowdown",
                    f"{slowed}:{args.percent:g}"]
    start = time.monotonic()
    done = execute(command, CUDA_VISIBLE_DEVICES=gpu)
    result = {"slowed": slowed, "gpu": gpu, "exit_code": done.returncode, "wall_s": round(time.monotonic() - start, 2)}
    if not path.exists():
        result["failure"] = done.stderr.strip()[-400:]
        return result
    comparison = files.read_json(path)
    result["summary"] = comparison["summary"]
    result["rows"] = [{key: row.get(key) for key in ("key", "variant", "mode", "verdict", "time_ratio", "first_time_ratio", "reason")}
                      for row in comparison["rows"] if row["verdict"] != "same" or row.get("was_suspect")]
    return result


def run_processes(args, folder, gpu):
    """The evidence of `gate --selftest`."""
    done = execute([args.attnbench, "--sweep", args.sweep, "--quick", "--reference", "none", "--rounds", args.processes,
                    "--json", folder / "processes.json"], CUDA_VISIBLE_DEVICES=gpu)
    print(f"{args.processes} processes: exit code {done.returncode} {done.stderr.strip()[-200:]}", file=sys.stderr)


def counts(result):
    """Whether the trial says anything: the slowed case could be slowed by just that much."""
    return not any("--inject-slowdown" in (row.get("reason") or "") for row in result.get("rows", []))


def earlier_trials(path):
    try:
        trials = [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
        if all(isinstance(trial, dict) and {"slowed", "exit_code", "wall_s"} <= trial.keys() for trial in trials):
            return trials
    except OSError as error:
        raise Failure(INPUT, f"{path}: cannot be read: {error.strerror}") from error
    except ValueError:
        pass
    raise Failure(INPUT, f"{path}: not the FILE.trials of an earlier run; give that file, or start anew without --resume")


class Trials:
    """What is still to be tried; a thread per GPU asks for it."""

    def __init__(self, args, slowable):
        self.lock = threading.Lock()
        self.results = [] if args.resume is None else earlier_trials(args.resume)
        self.resumed = len(self.results)
        self.slowable = slowable
        self.missing = {"same": args.same, "slowed": args.slowed}
        for result in self.results:
            self.missing[self.kind(result)] -= counts(result)
        self.started = sum(result["slowed"] is not None for result in self.results)
        self.processes = args.processes > 0 and args.evidence is None
        self.stopped = False

    @staticmethod
    def kind(result):
        return "same" if result["slowed"] is None else "slowed"

    def stop(self):
        """Nothing more is handed out."""
        with self.lock:
            self.missing, self.processes, self.stopped = {"same": 0, "slowed": 0}, False, True

    def take(self):
        """(kind, cell to slow) of the next task, or None."""
        with self.lock:
            if self.processes:
                self.processes = False
                return "processes", None
            for kind in ("same", "slowed"):
                if self.missing[kind] > 0:
                    self.missing[kind] -= 1
                    self.started += kind == "slowed"
                    return kind, None if kind == "same" else self.slowable[(self.started - 1) % len(self.slowable)]
            return None

    def add(self, result, log):
        with self.lock:
            if self.stopped:
                return
            self.results.append(result)
            self.missing[self.kind(result)] += not counts(result) and "failure" not in result
            log.write(json.dumps(result) + "\n")
            log.flush()
            print(f"{len(self.results)}: {result['slowed'] or 'no change'}: exit code {result['exit_code']}, "
                  f"{result['wall_s']} s", file=sys.stderr)


def run_all(args, folder, slowable):
    """One thread per GPU."""
    trials, failures = Trials(args, slowable), []

    def work(gpu):
        try:
            while (task := trials.take()) is not None:
                if task[0] == "processes":
                    run_processes(args, folder, gpu)
                else:
                    trials.add(trial(args, folder, len(trials.results), gpu, task[1]), log)
        except Exception as failure:
            failures.append(failure)
            trials.stop()

    with open(args.json + ".trials", "w", encoding="utf-8") as log:
        log.writelines(json.dumps(result) + "\n" for result in trials.results)
        threads = [threading.Thread(target=work, args=(gpu.strip(),)) for gpu in args.gpus.split(",")]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            trials.stop()
            program.end_running()
            raise
    if failures:
        raise failures[0]
    return trials


# ---- what they say ----------------------------------------------------------------------------------------------

def found(result):
    """Is the slowed case, and it alone, named?"""
    named = [f"{row['key']}/{row['variant']}" for row in result.get("rows", []) if row["verdict"] == "regressed"]
    return result["exit_code"] == REGRESSION and named == [result["slowed"]]


def selftest(args, folder):
    path = folder / "selftest.json"
    done = execute([args.attnbench, "gate", "--selftest", "--from", args.evidence or folder / "processes.json",
                    *rounds(args), "--json", path])
    if not path.exists():
        raise Failure(done.returncode or INTERNAL, f"attnbench gate --selftest ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return files.read_json(path)


def percent(ratio):
    return f"{100 * ratio:.3g} %"


# ---- slowdowns inside the launch ----------------------------------------------------------------------------------

SLOWER = ("regressed", "cycles")


def chance_of_at_most(count, trials, share):
    return sum(math.comb(trials, i) * share**i * (1 - share)**(trials - i) for i in range(count + 1))


def share_where(low_enough):
    """The share at which a monotonous test turns, to 1e-6."""
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if low_enough(middle) else (low, middle)
    return (low + high) / 2


def exact_interval(count, trials):
    """Clopper and Pearson's of 95 %."""
    low = 0.0 if count == 0 else share_where(lambda p: 1 - chance_of_at_most(count - 1, trials, p) < 0.025)
    high = 1.0 if count == trials else share_where(lambda p: chance_of_at_most(count, trials, p) > 0.025)
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def read_in_launch(path):
    """(trials, rows of slowed cells with what they cost, rows of untouched cells)."""
    try:
        trials = [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
        slowed, untouched = [], []
        for trial in trials:
            truth = {(one["key"], f"slowed_{one['name']}"): one for one in trial["slowed"]}
            for row in trial["rows"]:
                cost = truth.get((row["key"], row["variant"]), {})
                if not cost:
                    untouched.append(row)
                elif cost.get(row["mode"]):
                    slowed.append({**row, "name": cost["name"], "true": cost[row["mode"]]["ratio"] - 1, "us": cost[row["mode"]]["us"]})
    except OSError as error:
        raise Failure(INPUT, f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(INPUT, f"{path}: not a log of scripts/proof/slowed_trials.py") from error
    return trials, slowed, untouched


def is_found(row):
    return row["verdict"] in SLOWER


def counted(rows, of_what):
    count = sum(map(is_found, rows))
    return [f"{count} of {len(rows)}", f"{exact_interval(count, len(rows))}; {of_what}"]


def in_launch_rows(trials, slowed, untouched):
    if not slowed:
        return []
    rows = []
    sizes = (f"{min(r['us'] for r in slowed):.3g} to {max(r['us'] for r in slowed):.3g} us, "
             f"{len({(r['key'], r['name']) for r in slowed})} different cells")
    for mode in ("hot", "cold"):
        of_mode = [r for r in slowed if r["mode"] == mode]
        above = [r for r in of_mode if r["true"] >= r["threshold_ratio"]]
        below = [r for r in of_mode if r["true"] < r["threshold_ratio"] / 2]
        if above:
            rows.append([f"slowed inside the launch, {mode}, by the row's threshold or more: called slower", *counted(above, sizes)])
        if below:
            rows.append([f"slowed inside the launch, {mode}, by less than half of the threshold: called slower",
                         *counted(below, "these may pass")])
    off = sorted(abs((r["time_ratio"] or 1) - 1 - r["true"]) for r in slowed if r["mode"] == "hot")
    rows += [["untouched rows of these gates: called slower", *counted(untouched, "beside slowed ones in the same processes")],
             ["gates with such slowdowns: failed", f"{sum(t['exit_code'] == REGRESSION for t in trials)} of {len(trials)}",
              f"{statistics.median(t['wall_s'] for t in trials):.1f} s in the median"],
             ["what the gate says of a hot slowdown, against what was measured beside it", f"{percent(off[len(off) // 2])} off",
              f"median; {percent(off[-1])} at most"]]
    return rows


def in_launch_table(slowed):
    lines = []
    for name in sorted({r["name"] for r in slowed}):
        for mode in ("hot", "cold"):
            rows = [r for r in slowed if r["name"] == name and r["mode"] == mode]
            above = [r for r in rows if r["true"] >= r["threshold_ratio"]]
            if rows:
                lines.append([f"`{name}`", mode, f"{min(r['us'] for r in rows):.3g} to {max(r['us'] for r in rows):.3g}", len(rows),
                              f"{100 * min(r['true'] for r in rows):.1f} to {100 * max(r['true'] for r in rows):.1f}",
                              f"{sum(map(is_found, above))} of {len(above)}"])
    right = [{"name": name, "align": "right"} for name in ("us", "slowdowns", "by %", "at the threshold or above: found")]
    return {"title": "Slowdowns inside the launch, by variant", "columns": ["variant", "mode", *right], "rows": lines}


def rate_rows(data):
    rows = []
    for suite in data["suites"]:
        kind = "pairs (`ab`)" if suite["paired"] else "two samples (`--baseline`)"
        rows += [[f"drawn, {kind}: suites without any change that failed",
                  f"{suite['false_alarms']} of {suite['suites']}", f"at most {percent(suite['false_alarms_upper'])} (95 %)"],
                 [f"drawn, {kind}: suites that did not decide", f"{suite['inconclusive']} of {suite['suites']}",
                  f"at most {percent(suite['inconclusive_upper'])} (95 %)"]]
        if suite["paired"]:
            hardest = max(data["cases"], key=lambda case: case["slowdown_99"] or float("inf"))
            for p in (3, 2):
                shares = [case[f"found_{p}_percent"] for case in data["cases"]]
                rows.append([f"drawn, {kind}: {p} % slower, found in either mode of a gate of that case alone, of the case found least",
                             percent(suite[f"least_found_{p}_percent"]),
                             f"of single modes {percent(sum(shares) / len(shares))} in the mean, {percent(min(shares))} of the least"])
                if suite.get("whole_suites"):
                    rows.append([f"drawn, {kind}: whole gates with that case {p} % slower in both modes: failed",
                                 percent(suite[f"whole_found_{p}_percent"]), f"of {suite['whole_suites']}"])
            most = hardest["slowdown_99"]
            rows.append(["hardest single mode", f"{percent(most)} is found in 99 %" if most else "nothing is found in 99 %",
                         f"`{hardest['variant']}` {hardest['mode']} at {hardest['key']}, "
                         f"processes differ by {percent(hardest['spread_ratio'])}"])
    return rows


def case_table(data):
    rows = [[f"`{c['variant']}`", c["key"], c["mode"], c["median_us"], f"{100 * c['spread_ratio']:.2f}",
             f"{100 * c['found_2_percent']:.1f}", f"{100 * c['found_3_percent']:.1f}",
             None if c["slowdown_80"] is None else f"{100 * c['slowdown_80']:.2f}",
             None if c["slowdown_99"] is None else f"{100 * c['slowdown_99']:.2f}"] for c in data["cases"]]
    right = [{"name": name, "align": "right"} for name in
             ("median us", "sd of processes %", "2 % found %", "3 % found %", "80 % from %", "99 % from %")]
    return {"title": "Per case, drawn from the measured processes: gates of that case alone", "columns": ["variant", "case", "mode", *right], "rows": rows}


def add_in_launch(out, path):
    """What scripts/proof/slowed_trials.py logged, before the rows that are drawn."""
    trials, slowed, untouched = read_in_launch(path)
    out["rows"][2:2] = in_launch_rows(trials, slowed, untouched)
    out["tables"].insert(0, in_launch_table(slowed))
    out["in_launch"] = trials
    out["notes"].append(f"Slowdowns inside the launch: {len(slowed)} rows of {len(trials)} gates, threshold "
                        f"{trials[-1]['settings']['threshold_ratio']:.0%}; below 8 us the smallest difference that counts, "
                        "0.1 us hot and 0.15 us cold, raises it.")


def compared(attnbench, base, new):
    """What attnbench compare says of two reports, whatever it ends with."""
    with tempfile.TemporaryDirectory(prefix="gate_trials.") as folder:
        path = pathlib.Path(folder, "compare.json")
        done = execute([attnbench, "compare", base, new, "--json", path])
        if not path.exists():
            raise Failure(INPUT, f"attnbench compare {base} {new} ended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(path.read_text(encoding="utf-8"))


def apart_line(found):
    """[hours apart, cards, constants of an empty launch, verdicts hot, cold, the suite's]"""
    sides = [found["base"], found["new"]]
    start, end = (datetime.datetime.fromisoformat(side["run"]["started_utc"].replace("Z", "+00:00")) for side in sides)
    verdicts = []
    for mode in ("hot", "cold"):
        rows = [row["verdict"] for row in found["rows"] if row["mode"] == mode]
        verdicts.append(", ".join(f"{rows.count(verdict)} {verdict}" for verdict in sorted(set(rows))) or "-")
    constants = ", ".join(f"{side['device']['event_overhead_us']:.2f}" for side in sides)
    suite = found["suite"]
    return [f"{abs((end - start).total_seconds()) / 3600:.1f}", ", ".join(side["device"]["uuid"][:12] for side in sides), constants,
            *verdicts, f"{suite['verdict']}, {100 * (suite['time_ratio'] - 1):+.2f} %" if suite else "-"]


def add_apart(out, found):
    """Reports of one program from elsewhere, which nothing but the machine tells apart."""
    rows = [row for one in found for row in one["rows"]]
    of_mode = {mode: [row for row in rows if row["mode"] == mode] for mode in ("hot", "cold")}
    out["rows"] += [[f"two reports of one program, days, cards or hosts apart, {mode} rows: called slower", *counted(of_mode[mode], detail)]
                    for mode, detail in (("hot", f"{len(found)} comparisons"),
                                         ("cold", "a launch between two events costs more on some hosts: "
                                                  f"{sum(row['verdict'] == 'inconclusive' for row in of_mode['cold'])} rows undecided"))]
    out["tables"].append({"title": "Reports of one program from elsewhere, compared",
                          "columns": ["hours apart", "cards", "empty launch us", "hot rows", "cold rows", "all cases together"],
                          "rows": list(map(apart_line, found))})
    out["apart"] = found


def table(args, report, same, slowed, resumed, data):
    device, valid = report["device"], [r for r in slowed if counts(r)]
    walls = sorted(r["wall_s"] for r in same)
    pairs = f"{args.rounds or '3 to 7'} pairs"
    alarms, undecided = (sum(r["exit_code"] == code for r in same) for code in (REGRESSION, INCONCLUSIVE))
    rows = []
    if same:
        rows += [[f"real gates without any change, {len(report['results'])} cells in both modes: failed",
                  f"{alarms} of {len(same)}", f"{undecided} did not decide"]]
    if slowed:
        rows += [[f"real gates with one case {args.percent:g} % slower: found, and nothing else named",
                  f"{sum(map(found, valid))} of {len(valid)}", f"{len({r['slowed'] for r in valid})} different cases"]]
    if walls:
        rows += [["wall time of a gate without suspects", f"{walls[len(walls) // 2]:.1f} s",
                  f"{len(report['results'])} cells, {pairs} of processes; longest {walls[-1]:.1f} s"]]
    out = {"schema": "attnbench.table/1", "title": "How far the gate is to be trusted",
           "about": f"Threshold 2 %, {pairs} of processes, sweep `{report['sweep']['name']}` on {device['name']} "
                    f"(driver {device['driver']}, nothing locked)."
                    + (" Real gates: `scripts/proof/gate_trials.py`, the program against itself." if same or slowed else "")
                    + ("" if data is None else f" Drawn: `attnbench gate --selftest`, gates drawn from "
                       f"{data['method']['processes']} measured processes."),
           "columns": ["what", "result", "detail"], "rows": rows + ([] if data is None else rate_rows(data)),
           "trials": same + slowed}
    out["notes"], out["tables"] = [], []
    if len(valid) < len(slowed):
        out["notes"].append(f"Not counted, since the delay could not be calibrated on that case: {len(slowed) - len(valid)}.")
    if resumed > 0:
        out["notes"].append(f"Taken over from earlier runs of this script: {resumed} trials.")
    if data is not None:
        out["tables"], out["selftest"] = [case_table(data)], data
    if args.in_launch is not None:
        add_in_launch(out, args.in_launch)
    if args.apart:
        add_apart(out, [compared(args.attnbench, *pair) for pair in args.apart])
    return out


def main():
    args = parse_arguments()
    files.check_output(args.json)
    program.require_program(args.attnbench)
    with tempfile.TemporaryDirectory(prefix="gate_trials.") as name:
        folder = pathlib.Path(name)
        slowable, report = cells(args, folder)
        if args.slowed > 0 and not slowable:
            raise Failure(COVERAGE, f"no case takes {args.least_us:g} us or more; lower --least-us, or give --slowed 0")
        trials = run_all(args, folder, slowable)
        data = selftest(args, folder) if args.evidence is not None or args.processes > 0 else None
    same = [r for r in trials.results if r["slowed"] is None]
    slowed = [r for r in trials.results if r["slowed"] is not None]
    files.write_whole(args.json, files.json_text(table(args, report, same, slowed, trials.resumed, data)))
    os.remove(args.json + ".trials")
    broken = [r for r in trials.results if "failure" in r]
    if broken:
        raise Failure(broken[0]["exit_code"] or INTERNAL, f"{len(broken)} trials could not run; the first: {broken[0]['failure']}")
    good = all(r["exit_code"] != REGRESSION for r in same) and all(map(found, filter(counts, slowed)))
    return 0 if good else 1


if __name__ == "__main__":
    program.run_main(main)
