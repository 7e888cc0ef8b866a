#!/usr/bin/env python3
"""Kills runs of attnbench at random moments, resumes them, and holds the final report against that of a run that nobody
disturbed: equal but for times. After each kill it looks for processes and files that are left over.

  tests/kill_runs.py PROGRAM KILLS [--seed N] [--rounds N --load STEADY.so] [--devices LIST]

Half of the kills hit the program, the others its worker. A run that came to its end before its kill is checked and
begun anew, until there were KILLS kills. Prints one line of figures, and ends with 1 at the first thing that is wrong.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

# Names of fields that hold times, or depend on when a run took place.
TIMES = {"started_utc", "command", "wall_s", "gpu_s", "overhead_s", "seconds", "resumed", "event_overhead_us",
         "checksum", "findings", "scaling", "card", "tflop_per_s", "gb_per_s", "roof", "timed_samples", "race_found_ratio", "changed_us"}
# Objects of measured values: of these only the number of values counts, and what is not there.
MEASURED = {"time", "processes", "between_processes"}
# Of a time: whether these are there depends on what else the machine does.
NOW_AND_THEN = {"settled_alone", "waited_ratio", "others_load"}
# What a cell left may be another program's, if it says so.
OF_OTHERS = "unless another process of this user"
MARK = "ATTNBENCH_KILL_TEST"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=None, help="of the moments; by default another one each time")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--load", help="measure the variant steady of this object in --rounds rounds")
    parser.add_argument("--devices", help="measure with these cards, one of whose workers is killed; which card "
                        "measured what is not compared")
    options = parser.parse_args()
    options.seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    return options


def fail(text):
    sys.exit(f"kill_runs.py: {text}")


def sweep_text(options):
    shapes = [{"B": b, "H": 2, "S": s, "D": d} for b in (1, 2) for s in (1, 17, 33) for d in (8, 16)]
    if options.load:
        shapes = [{"B": b, "H": 2, "S": 1, "D": 8} for b in (1, 2)]
    return json.dumps({"attnbench_sweep": 1, "name": "killed", "shapes": shapes,
                       "variants": ["steady"] if options.load else ["cpu_flash", "cpu_ref"]})


def command(options, report, journal):
    words = [options.program, "--sweep", "sweep.json", "--json", report, "--journal", journal,
             "--resume"]
    words += ["--devices", options.devices] if options.devices else ["--device", "cpu"]
    if not options.load:
        return [*words, "--check-only"]
    return [*words, "--load", options.load, "--rounds", str(options.rounds), "--modes", "hot", "--quick"]


def start(words):
    return subprocess.Popen(words, env={**os.environ, MARK: str(os.getpid())}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def running():
    """Process ids of everything that a run started, by a variable that its processes inherit."""
    found = []
    wanted = f"{MARK}={os.getpid()}".encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return found


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def is_worker(pid):
    """By its command line: a sanitizer's leak check also has a child, for which it would wait for ever."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")[1:2] == [b"worker"]
    except OSError:
        return False


def expect_nothing_left():
    for _ in range(500):
        left = running()
        if not left:
            return
        time.sleep(0.02)
    fail(f"processes outlive their run: {left}")


def expect_files(allowed, replacing):
    """REPLACING: the process id of a killed run whose report replaces an older one, or None. Such a report has a name of
    its own for a moment, when it is already whole."""
    extra = set(os.listdir(".")) - set(allowed)
    named = f"run.json.{replacing}.0.tmp"
    if named in extra:
        read_report(named)
        os.unlink(named)
        extra.remove(named)
    if extra:
        fail(f"files are left over: {sorted(extra)}")


def shape_of(value):
    if isinstance(value, dict):
        return {key: item if key == "count" else shape_of(item) for key, item in value.items() if key not in NOW_AND_THEN}
    return len(value) if isinstance(value, list) and value and not isinstance(value[0], str) else value is None


def without_times(value):
    if isinstance(value, dict):
        return {key: shape_of(item) if key in MEASURED else without_times(item) for key, item in value.items()
                if key not in TIMES and not key.endswith("_reason") and not (key == "left" and OF_OTHERS in item)}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def first_difference(a, b, place="report"):
    if type(a) is type(b) and isinstance(a, dict):
        for key in sorted(a.keys() | b.keys()):
            if a.get(key) != b.get(key):
                return first_difference(a.get(key), b.get(key), f"{place}.{key}")
    if type(a) is type(b) and isinstance(a, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                return first_difference(x, y, f"{place}[{i}]")
    return f"{place} is {str(a)[:300]} and {str(b)[:300]}"


def read_report(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def finish(process):
    error = process.communicate()[1]
    if process.returncode != 0:
        fail(f"the run ended with {process.returncode}: {error}")


def cells_run(journal):
    """How often each cell and round stands in the journal, and how many of them were lost with their worker."""
    times, lost = {}, 0
    with open(journal, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            cell = entry.get("cell") or entry.get("again")
            if cell is None:
                continue
            lost += "killed by signal 9" in cell.get("reason", "")
            name = (cell["key"], cell["variant"], cell.get("round", 0))
            times[name] = times.get(name, 0) + 1
    return times, lost


class Runs:
    """One journal after the other, each killed until it is whole."""

    def __init__(self, options):
        self.options = options
        self.choose = random.Random(options.seed)
        self.kills = {"program": 0, "worker": 0}
        self.whole = 0
        finish(start(command(options, "undisturbed.json", "undisturbed.journal")))
        began = time.monotonic()
        os.unlink("undisturbed.journal")
        finish(start(command(options, "undisturbed.json", "undisturbed.journal")))
        self.seconds = time.monotonic() - began
        self.expected = without_times(read_report("undisturbed.json"))
        self.files = ["sweep.json", "undisturbed.json", "undisturbed.journal", "run.journal", "run.json"]

    def kill_one(self, process):
        """True when something was killed."""
        time.sleep(self.choose.uniform(0, self.seconds))
        wanted = "worker" if self.choose.random() < 0.5 else "program"
        pids = [process.pid] if wanted == "program" else [p for p in running() if parent_of(p) == process.pid and is_worker(p)]
        if not pids or process.poll() is not None:
            return False
        try:
            os.kill(self.choose.choice(sorted(pids)), signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.kills[wanted] += 1
        return True

    def check_whole(self):
        found = without_times(read_report("run.json"))
        if found != self.expected:
            fail("a resumed run has another report than an undisturbed one: " + first_difference(self.expected, found))
        times, lost = cells_run("run.journal")
        # A cell whose worker was killed has a line that says so, and then those of all its rounds once more.
        repeated = sum(count - 1 for count in times.values())
        if repeated > lost * self.options.rounds:
            fail(f"{repeated} cells were measured again, for {lost} lost ones")
        self.whole += 1
        os.unlink("run.journal")
        os.unlink("run.json")

    def go(self):
        while sum(self.kills.values()) < self.options.kills or os.path.exists("run.journal"):
            replaces = os.path.exists("run.json")
            process = start(command(self.options, "run.json", "run.journal"))
            if sum(self.kills.values()) < self.options.kills:
                self.kill_one(process)
            error = process.communicate()[1]
            expect_nothing_left()
            was_killed = process.returncode == -signal.SIGKILL
            expect_files(self.files, process.pid if replaces and was_killed else None)
            if process.returncode == 0:
                self.check_whole()
            elif process.returncode not in (-signal.SIGKILL, 4, 9):
                fail(f"the run ended with {process.returncode}: {error}")


def main():
    options = arguments()
    options.program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(prefix="attnbench-kill-") as folder:
        os.chdir(folder)
        with open("sweep.json", "w", encoding="utf-8") as file:
            file.write(sweep_text(options))
        print(f"seed {options.seed}", file=sys.stderr)
        runs = Runs(options)
        runs.go()
        print(f"{runs.kills['program']} kills of the program and {runs.kills['worker']} of its worker (seed {options.seed}): "
              f"{runs.whole} resumed runs, each with the report of an undisturbed one but for times")
        os.chdir("/")


if __name__ == "__main__":
    main()
