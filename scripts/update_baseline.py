#!/usr/bin/env python3
"""Promotes a report to a baseline. A baseline is a committed report that later ones are compared with.

  scripts/update_baseline.py NEW.json --to results/h200/baseline/gate.json --reason "mma_swizzle: deeper pipeline"

NEW.json is a report of at least 5 rounds (attnbench --sweep FILE --rounds 10 --json NEW.json). It is refused when the
program or the tree has uncommitted changes, when the program was built from other sources than those checked out,
when a row is not right, when the report was changed after it was written, when the run was profiled, throttled,
unsettled or its processes disagree, and when it is slower than the last baseline or than the anchor. The anchor
(gate.anchor.json, beside the baseline) keeps the report that it was pinned to, so that three baselines which are each
1.5 % slower than the one before do not all pass.
Every promotion is a line in baseline.log.jsonl, in the same folder. Commit the three files together.

exit 0: promoted; 1: slower than the last baseline or the anchor; 2: usage; 3, 4, 5: what the comparison found (wrong,
missing, inconclusive); 6: not fit to be a baseline, or another machine or sweep; 7: a file is invalid; 8: a file cannot
be written; 9: attnbench, git or python3-jsonschema is missing
"""
import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile

from lib import files, program
from lib.program import COVERAGE, INCONCLUSIVE, INPUT, INTERNAL, NOT_COMPARABLE, OUTPUT, REGRESSION, ROOT, Failure, execute

PROCESSES_MIN = 5
SPREAD_FLOOR_US = 0.05  # below the resolution of a timer no spread is a fault
THROTTLED = {"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}
SOURCES = ["Makefile", "cli", "kernels", "shapes"]
SHOWN = 12


def refused(code, *lines):
    """Why there is no promotion."""
    return Failure(code, "\n".join(lines))


# ---- is the report fit? -----------------------------------------------------------------------------------------

def python_with_jsonschema():
    """A python3 earlier in PATH may lack the distribution's modules."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(Failure):
            if execute([candidate, "-c", "import jsonschema"]).returncode == 0:
                return candidate
    raise Failure(INTERNAL, "no python3 with jsonschema: run make setup, or apt-get install python3-jsonschema")


def read_report(path):
    done = execute([python_with_jsonschema(), ROOT / "scripts" / "proof" / "validate_report.py", path])
    if done.returncode != 0:
        raise refused(INPUT, f"{path} is not a valid report:", done.stderr.strip())
    report = files.read_json(path)
    if report["schema"] != "attnbench.report/1":
        raise Failure(INPUT, f"{path} is {report['schema']}; a baseline is a report")
    return report


def git(*arguments):
    return execute(["git", "-C", ROOT, *arguments])


def tree_problems(commit):
    """The baseline must belong to sources that can be found again."""
    if commit.endswith("+dirty"):
        yield f"the program was built with uncommitted changes (commit {commit}): commit, build and measure again"
        return
    changes = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude,glob)results/*/baseline/**")
    if changes.returncode != 0:
        yield f"{ROOT} is not a git checkout, so the sources of this report are not known"
        return
    if changes.stdout:
        yield f"the tree has uncommitted changes: {', '.join(line[3:] for line in changes.stdout.splitlines()[:4])}"
    if git("merge-base", "--is-ancestor", commit, "HEAD").returncode != 0:
        yield f"commit {commit}, which was measured, is not part of what is checked out"
    elif git("diff", "--quiet", commit, "HEAD", "--", *SOURCES).returncode != 0:
        yield f"{', '.join(SOURCES)} changed since commit {commit}, which was measured: build and measure again"


def run_problems(report):
    run, device = report["run"], report["device"]
    if run["state"] != "complete":
        yield f"the run is {run['state']}: let it end"
    if run.get("profiled"):
        yield f"the run was profiled ({run['profiled']}): measure without a profiler"
    if run.get("edited"):
        yield "it was changed after attnbench wrote it, or made from such a report: measure again"
    if device is None or device["modelled"]:
        yield "nothing was measured: this is a plan"
    if len(report["results"]) < run["cells"] or not report["results"]:
        yield f"{len(report['results'])} of {run['cells']} cells are there"
    if report["summary"]["ok"] == 0:
        yield "no row is ok"


def mode_problems(mode, time, processes, limits):
    count = processes["count"] if processes else 1
    medians = processes["median_us"] if processes else []
    if count < PROCESSES_MIN or len(medians) < PROCESSES_MIN or None in medians:
        yield f"{mode}: {count} processes, a baseline needs {PROCESSES_MIN}: measure with --rounds 10"
        return
    spread = statistics.stdev(medians)
    if spread > max(limits.max_spread / 100 * statistics.fmean(medians), SPREAD_FLOOR_US):
        share = 100 * spread / statistics.fmean(medians)
        yield f"{mode}: its processes differ by {share:.2f} % (standard deviation), at most {limits.max_spread:g} % is quiet"
    drifted = not time["settled"] and not time.get("settled_alone")  # how the processes differ was asked above
    if drifted and not limits.accept_unsettled:
        yield f"{mode}: warm-up did not settle (--accept-unsettled promotes it anyway)"
    reasons = set(time["throttle_reasons"]).union(*processes.get("throttle_reasons") or [[]]) & THROTTLED
    if reasons:
        yield f"{mode}: the clock was held down by {', '.join(sorted(reasons))}"


def row_problems(result, limits):
    name = f"{result['key']}/{result['variant']}"
    if result["status"] == "skipped":
        return
    if result["status"] != "ok":
        yield f"{name} is {result['status']}: {result['reason']}"
        return
    timed = [mode for mode in ("cold", "hot") if result["time"][mode] is not None]
    if not timed:
        yield f"{name} has no times"
    for mode in timed:
        processes = (result.get("processes") or {}).get(mode)
        for problem in mode_problems(mode, result["time"][mode], processes, limits):
            yield f"{name} {problem}"


def check_fitness(report, limits):
    problems = list(run_problems(report)) + list(tree_problems(report["tool"]["git_commit"]))
    for result in report["results"]:
        problems += row_problems(result, limits)
    if problems:
        more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise refused(NOT_COMPARABLE, "not fit to be a baseline:", *(f"  {text}" for text in problems[:SHOWN] + more))


# ---- is it slower? ----------------------------------------------------------------------------------------------

def compare(attnbench, base, new):
    """The comparison as attnbench makes it, and its exit code."""
    program.require_program(attnbench)
    with tempfile.TemporaryDirectory(prefix="update_baseline.") as folder:
        path = pathlib.Path(folder) / "compare.json"
        done = execute([attnbench, "compare", base, new, "--allow-new", "--json", path])
        if not path.exists():
            raise refused(done.returncode or INPUT, f"{attnbench} compare {base} {new}:", done.stderr.strip())
        return files.read_json(path), done.returncode


def worst_change(comparison):
    ratios = [row["time_ratio"] for row in comparison["rows"] if row["time_ratio"] is not None]
    return max(ratios) if ratios else None


def rows_of(comparison, verdicts):
    for row in comparison["rows"]:
        if row["verdict"] in verdicts:
            change = f"{100 * (row['time_ratio'] - 1):+.2f} %" if row["time_ratio"] is not None else ""
            reason = row["reason"] or ""
            what = reason if reason.startswith(change) else f"{change} {reason}"
            yield f"  {row['verdict']} {row['key']}/{row['variant']} {row['mode']}: {what}".rstrip()


def judge(name, path, new, options):
    """Compares with an earlier report; refuses, or returns what is to be logged of it."""
    comparison, code = compare(options.attnbench, path, new)
    if comparison["summary"]["exit_code"] != code:
        raise Failure(INPUT, f"{options.attnbench} compare ended with {code}, but its JSON says {comparison['summary']['exit_code']}")
    entry = {"report": os.path.basename(path), "exit_code": code, "worst_time_ratio": worst_change(comparison)}
    if code == 0:
        return entry
    if code == NOT_COMPARABLE:
        differences = [d for d in comparison["identity"]["differences"] if d["fatal"]]
        entry["differences"] = [d["key"] for d in differences]
        if options.new_machine:
            return entry
        raise refused(code, f"not comparable with the {name} {path} (--new-machine starts anew):",
                      *(f"  {d['key']}: {d['base']} there, {d['new']} here" for d in differences))
    if code == REGRESSION:
        if options.accept_creep:
            return entry
        raise refused(code, f"slower than the {name} {path} (--accept-creep promotes it anyway):",
                      *rows_of(comparison, ["regressed"]))
    if code == COVERAGE and options.accept_missing:
        return entry
    hint = {COVERAGE: " (--accept-missing promotes it anyway)", INCONCLUSIVE: ": measure with more --rounds"}.get(code, "")
    raise refused(code, f"the comparison with the {name} {path} ended with {code}{hint}:",
                  *rows_of(comparison, ["wrong", "missing", "inconclusive", "clock"]))


# ---- promotion --------------------------------------------------------------------------------------------------

def log_entry(options, report, judged, pins):
    accepted = [name for name in ("accept_creep", "accept_missing", "accept_unsettled", "new_machine")
                if getattr(options, name)]
    counts = [mode["count"] for row in report["results"] for mode in (row.get("processes") or {}).values() if mode]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "baseline": options.to.name,
        "commit": report["tool"]["git_commit"],
        "reason": options.reason,
        "device": report["device"]["name"],
        "driver": report["device"]["driver"],
        "rows": report["summary"]["ok"],
        "processes": min(counts) if counts else 1,
        "against": judged,
        "accepted": accepted,
        "pinned_anchor": pins,
    }


def promote(options):
    report = read_report(options.report)
    check_fitness(report, options)
    anchor = options.to.with_suffix(".anchor.json")
    judged = [judge(name, path, options.report, options)
              for name, path in (("last baseline", options.to), ("anchor", anchor)) if path.exists()]
    unlike = any(entry["exit_code"] == NOT_COMPARABLE for entry in judged)
    pins = options.anchor or unlike or not anchor.exists()
    line = json.dumps(log_entry(options, report, judged, pins), ensure_ascii=False)
    data = options.report.read_bytes()
    try:
        options.to.parent.mkdir(parents=True, exist_ok=True)
        # Of arguments that are no UTF-8, what cannot be encoded is written as JSON's own escape of it.
        with open(options.to.parent / "baseline.log.jsonl", "a", encoding="utf-8", errors="backslashreplace") as log:
            files.write_whole(options.to, data)
            if pins:
                files.write_whole(anchor, data)
            log.write(line + "\n")
    except OSError as error:
        raise refused(OUTPUT, f"{error.filename}: cannot write: {error.strerror}") from error
    print(f"promoted: {options.to}{' and its anchor' if pins else ''}; commit the folder {options.to.parent}")


def parse_options():
    parser = argparse.ArgumentParser(usage="%(prog)s NEW.json --to FILE.json --reason TEXT [options]",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", metavar="NEW.json", type=pathlib.Path)
    parser.add_argument("--to", required=True, metavar="FILE.json", type=pathlib.Path, help="the baseline to write")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why, in one line, for the log")
    parser.add_argument("--anchor", action="store_true", help="pin the anchor to this report too")
    parser.add_argument("--accept-creep", action="store_true", help="promote it although it is slower than the last baseline or the anchor")
    parser.add_argument("--accept-missing", action="store_true", help="promote it although rows of the last baseline are missing")
    parser.add_argument("--accept-unsettled", action="store_true", help="promote it although a warm-up did not settle")
    parser.add_argument("--new-machine", action="store_true", help="start anew on another machine or sweep, without a comparison")
    parser.add_argument("--max-spread", type=float, default=1.0, metavar="PERCENT",
                        help="largest standard deviation of the processes' medians (default: 1)")
    program.add_attnbench_option(parser)
    options = parser.parse_args()
    if options.to.suffix != ".json" or options.to.name.endswith(".anchor.json"):
        parser.error("--to: name the baseline itself, FILE.json; its anchor FILE.anchor.json is written beside it")
    if not options.reason.strip() or "\n" in options.reason:
        parser.error("--reason: give one line of text")
    if not (math.isfinite(options.max_spread) and options.max_spread > 0):
        parser.error("--max-spread: give a percentage above 0")
    return options


def main():
    promote(parse_options())
    return 0


if __name__ == "__main__":
    program.run_main(main)
