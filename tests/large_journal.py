#!/usr/bin/env python3
"""Writes a journal of many cells, made from the first timed cell of a small one: tests/large_journal.py SMALL ROWS OUT
[PROCESSES], where each of as many processes measured every cell.
With --run it then runs a command and prints its processor seconds and its largest memory in MB:
tests/large_journal.py --run PROGRAM ARGUMENTS..."""
import copy
import json
import math
import random
import resource
import subprocess
import sys

VARIANTS = ["cpu_ref", "cpu_flash", "loaded_one", "loaded_two"]  # what a CPU computes


def processes_of(time, count, row):
    """Processes of a row, which deviate as those of an H200 do (results/h200/gate.json): by 0.15 to 1 %."""
    chance = random.Random(f"{row} {time['median_us']}")
    deviation = 0.0015 * (0.01 / 0.0015) ** (row % 16 / 15)
    times = [time["median_us"]] + [time["median_us"] * math.exp(chance.gauss(0, deviation)) for _ in range(count - 1)]
    return {"count": count, "median_us": times, "sm_clock_mhz": [None] * count, "throttle_reasons": [[]] * count}


def lines_of(small, rows, processes):
    with open(small, encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    for entry in entries:
        entry.pop("checksum", None)
    first = next(e["cell"] for e in entries if "cell" in e and e["cell"]["status"] == "ok")
    entries[0]["run"]["cells"] = rows
    entries[0]["run"]["setup"]["rounds"] = processes
    yield from (e for e in entries if not {"cell", "again", "end"} & e.keys())
    for i in range(rows):
        cell = copy.deepcopy(first)
        if processes > 1:
            cell["processes"] = {mode: processes_of(time, processes, i) for mode, time in first["time"].items()}
        shape = cell["shape"]
        case = i // len(VARIANTS)
        shape["B"], shape["Sq"] = 1 + case % 50, 64 + case // 50
        shape["Skv"] = shape["Sq"]
        rows_checked = shape["B"] * shape["Hq"] * shape["Sq"]
        check = cell["check"]
        check["elements"] = rows_checked * shape["D"]
        check["evidence"]["rows"] = check["oracle"]["rows_verified"] = rows_checked
        cell["variant"] = VARIANTS[i % len(VARIANTS)]
        cell["key"] = ("B{B}.H{Hq}.Hkv{Hkv}.Sq{Sq}.Skv{Skv}.D{D}.{dtype}.".format(**shape) +
                       ("causal" if shape["causal"] else "full"))
        yield {"cell": cell}
    yield {"end": {"state": "complete", "wall_s": 3600}}


def main():
    if sys.argv[1] == "--run":
        code = subprocess.call(sys.argv[2:], stdout=subprocess.DEVNULL)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss / 1000:.0f}")
        sys.exit(code)
    small, rows, out = sys.argv[1:4]
    processes = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines_of(small, int(rows), processes))


if __name__ == "__main__":
    main()
