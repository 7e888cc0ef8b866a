"""Reports that somebody has tampered with: writes one file for each way to do it, and prints its name and what was done.

usage: tamper.py REPORT.json FOLDER [EVERY]     every EVERY-th of the simple ones; all by default

Every value of two results that the gate rests on (status, check, time, processes), and of the head (run, sweep, summary,
device), is in turn deleted, nulled, zeroed, negated, made huge, tiny, infinite, of another type; lists lose, gain and swap
elements; and then come the tamperings that a clever hand would make. A line of the output is FILE<TAB>WHAT. Those that
may pass, since nothing the verdict rests on has changed, are not written.
"""
import copy
import json
import pathlib
import sys

# What the verdict does not rest on: texts that only describe, and readings that nothing is judged by.
HARMLESS = {
    "reason", "math", "oracle", "rows_verified", "max_difference", "max_abs_error", "first_bad", "redzone_first", "stop",
    "warmup_s", "elapsed_s", "power_w", "temperature_c", "started_utc", "command", "filter", "wall_s", "gpu_s", "overhead_s",
    "path", "about", "quick", "baseline", "uuid", "driver_version", "first", "name_reason", "relative", "absolute",
    "driver", "host_cpu", "host_kernel", "compute_mode", "persistence", "profile_launches", "guard", "threads_per_sm",
}
# Values of the check that mean the same or better, and details that only describe the spread of the samples.
MAY_PASS = {"max_bound_ratio": (0, 1e-300, 0.5), "rel_frobenius": (0, 1e-300), "frobenius": (0.5, 1e300),
            "mad_us": (0, 1e-300, 0.5), "min_us": (0.5,), "throttle_reasons": (None,)}
# A status that is not listed is one that no result has.
MAY_GO = {"wrong", "skipped", "planned", "oom_predicted", "error", "crashed", "timeout", "throttle_reasons"}
NUMBERS = [0, -1, 1e300, 1e-300, 0.5]
OTHERS = [None, "7", [], {}, True]


def walk(value, path):
    yield path, value
    if isinstance(value, dict):
        for key in value:
            yield from walk(value[key], path + [key])
    if isinstance(value, list):
        for i in range(min(len(value), 2)):
            yield from walk(value[i], path + [i])


def parent_of(document, path):
    for step in path[:-1]:
        document = document[step]
    return document


def simple(report, roots):
    for root in roots:
        value = report
        for step in root:
            value = value[step]
        for path, found in list(walk(value, root)):
            if any(step in HARMLESS for step in path):
                continue
            if path[-1] not in MAY_GO:
                yield path, "delete", None
            isnumber = isinstance(found, (int, float)) and not isinstance(found, bool)
            news = NUMBERS + OTHERS if isnumber else OTHERS + [False, "unknown"]
            if isinstance(found, list) and found:
                news = news + [found[:-1], found + [found[-1]], found[::-1]]
            for new in news:
                if any(new is may or new == may != True for may in MAY_PASS.get(path[-1], ())):
                    continue
                if new != found or type(new) is not type(found):
                    yield path, "set", new


def apply(report, path, how, new):
    changed = copy.deepcopy(report)
    parent = parent_of(changed, path)
    if how == "delete":
        del parent[path[-1]]
    else:
        parent[path[-1]] = new
    return changed


def scale(result, mode, factor):
    for key in result["time"][mode]:
        if key.endswith("_us") and isinstance(result["time"][mode][key], float):
            result["time"][mode][key] *= factor
    result["processes"][mode]["median_us"] = [us * factor for us in result["processes"][mode]["median_us"]]


def clever(report):
    """What needs more than one change to look right."""
    for factor in (1e-3, 1e-2, 0.05):
        changed = copy.deepcopy(report)
        for mode in ("cold", "hot"):
            scale(changed["results"][0], mode, factor)
        yield changed, f"all times of a cell times {factor}"
    for mode in ("cold", "hot"):
        changed = copy.deepcopy(report)
        processes = changed["results"][0]["processes"][mode]
        processes["median_us"] = [us if i % 2 == 0 else None for i, us in enumerate(processes["median_us"])]
        yield changed, f"every second {mode} process nulled"
        changed = copy.deepcopy(report)
        for key in ("median_us", "sm_clock_mhz", "throttle_reasons"):
            changed["results"][0]["processes"][mode][key] = changed["results"][0]["processes"][mode][key][:5]
        changed["results"][0]["processes"][mode]["count"] = 5
        yield changed, f"{mode} processes cut to five"
        changed = copy.deepcopy(report)
        changed["results"][0]["time"][mode]["settled"] = False
        yield changed, f"{mode} unsettled"
        changed = copy.deepcopy(report)
        changed["results"][0]["time"][mode]["n"] = 1
        yield changed, f"{mode} of one sample"
        for reason in ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"):
            changed = copy.deepcopy(report)
            changed["results"][0]["processes"][mode]["throttle_reasons"][3] = [reason]
            yield changed, f"{mode} throttled: {reason}"
        changed = copy.deepcopy(report)
        changed["results"][0]["processes"][mode]["sm_clock_mhz"] = [
            mhz * 1.1 for mhz in changed["results"][0]["processes"][mode]["sm_clock_mhz"]]
        yield changed, f"{mode} at a clock 10 % higher"
    for status in ("skipped", "planned"):
        changed = copy.deepcopy(report)
        changed["results"][0].update(status=status, reason="because", time=None)
        changed["results"][0].pop("processes", None)
        yield changed, f"a cell that is {status}"
        changed["summary"]["ok"] -= 1
        changed["summary"][status] += 1
        yield copy.deepcopy(changed), f"a cell that is {status}, and counted so"
    changed = copy.deepcopy(report)
    del changed["results"][0]
    yield changed, "a cell removed"
    changed["run"]["cells"] -= 1
    changed["summary"]["cells"] -= 1
    changed["summary"]["ok"] -= 1
    yield copy.deepcopy(changed), "a cell removed, and counted so"
    changed = copy.deepcopy(report)
    changed["results"][1] = copy.deepcopy(changed["results"][0])
    yield changed, "a cell that stands for another"
    for result in (r for r in [copy.deepcopy(report)]):
        for row in result["results"]:
            row["check"]["right"] = False
        yield result, "every check wrong, every status ok"
    changed = copy.deepcopy(report)
    changed["run"]["started_utc"] = None
    for row in changed["results"]:
        row["check"] = None
    yield changed, "as if entered by hand"
    changed = copy.deepcopy(report)
    changed["sweep"]["gate"] = {"threshold_percent": 50, "cases": []}
    yield changed, "a threshold of its own"
    changed = copy.deepcopy(report)
    changed["sweep"]["gate"] = {"threshold_percent": 0, "cases": [{"glob": "*", "threshold_percent": 50}]}
    yield changed, "a threshold of its own for every case"
    changed = copy.deepcopy(report)
    changed["run"]["profiled"] = "ncu"
    yield changed, "profiled"


def main(source, folder, every="1"):
    report = json.loads(pathlib.Path(source).read_text())
    folder = pathlib.Path(folder)
    roots = [["results", 0, key] for key in ("key", "variant", "shape", "status", "check", "time", "processes")]
    roots += [["results", 7, "status"], ["results", 7, "time", "hot"], ["results", 7, "processes"]]
    roots += [["schema"], ["run", "seed"], ["run", "cells"], ["run", "state"], ["sweep", "hash"], ["summary"]]
    roots += [["device", key] for key in ("kind", "name", "cc_major", "sms", "memory_bytes", "runtime_version")]
    tampered = [(apply(report, path, how, new), f"{how} {'.'.join(map(str, path))} {json.dumps(new)[:60]}")
                for path, how, new in list(simple(report, roots))[::int(every)]]
    tampered += list(clever(report))
    for i, (document, what) in enumerate(tampered):
        path = folder / f"{i:04}.json"
        path.write_text(json.dumps(document))
        print(path, what, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
