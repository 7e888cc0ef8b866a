"""Writes the reports of a synthetic history into a folder, made from one report: tests/history_runs.py REPORT FOLDER RUNS [STEP [DRIFT]].

Run i is of commit "%07x" % (0xc000000 + i) and day i. From commit RUNS * 2 // 3 on, the first cell's hot times are STEP (1.05)
times as long; from the first run to the last they grow to DRIFT (1) times. Noise is 0.5 %, from a fixed seed."""
import datetime
import json
import pathlib
import random
import sys


def scale(time, factor):
    for name, value in time.items():
        if name.endswith("_us") and isinstance(value, (int, float)):
            time[name] = value * factor


def main():
    source, folder, runs = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    step = float(sys.argv[4]) if len(sys.argv) > 4 else 1.05
    drift = float(sys.argv[5]) if len(sys.argv) > 5 else 1
    text = pathlib.Path(source).read_text(encoding="utf-8")
    chance = random.Random(26)
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(runs):
        report = json.loads(text)
        day = datetime.date(2026, 1, 1) + datetime.timedelta(days=i)
        report["tool"]["git_commit"] = "%07x" % (0xc000000 + i)
        report["run"]["started_utc"] = f"{day}T02:00:00Z"
        for at, result in enumerate(report["results"]):
            for mode, time in (result["time"] or {}).items():
                if not time:
                    continue
                factor = chance.gauss(1, 0.005)
                if at == 0 and mode == "hot":
                    factor *= (step if i >= runs * 2 // 3 else 1) * drift ** (i / (runs - 1))
                scale(time, factor)
                processes = (result.get("processes") or {}).get(mode)
                if processes:
                    processes["median_us"] = [us * factor for us in processes["median_us"]]
        (folder / f"{day}.json").write_text(json.dumps(report), encoding="utf-8")


main()
