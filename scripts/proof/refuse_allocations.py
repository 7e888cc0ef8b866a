#!/usr/bin/env python3
"""Runs attnbench again and again and refuses another allocation each time, with tests/preload/refuse_allocation.c. A
refused allocation may cost the result, never the reason: the program ends with one of its exit codes and says why on one
line, or with what it would have written anyway. A crash, a hang, a sanitizer's report or a silent difference fails.

By default one allocation per chain of callers is refused, the first; --every refuses each allocation of each command. With
a program built by `make SANITIZE=address,undefined` what is not given back is found too. --record writes
results/reliability/allocations.tsv, with --every allocations_every.tsv. Writes TAP.

exit 0: every refusal was told; 1: one was not; 2: usage
"""
import argparse
import concurrent.futures
import contextlib
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.program import INTERNAL, ROOT, Failure, add_attnbench_option, require_program, run_main

SHIM = ROOT / "tests/preload/refuse_allocation.c"
RECORD = ROOT / "results/reliability/allocations.tsv"
RECORD_EVERY = ROOT / "results/reliability/allocations_every.tsv"
GPU = str(ROOT / "tests/data/released/0.1.0/gpu.json")
JOURNAL = str(ROOT / "tests/data/released/0.1.0/gpu.journal")
MEASURED = ROOT / "tests/data/released/0.1.0/baseline.journal"
BASELINE = str(ROOT / "tests/data/released/0.1.0/baseline.json")
SWEEP = """{"attnbench_sweep": 1, "name": "two", "variants": ["cpu_flash"], "defaults": {"B": 1, "H": 1, "D": 8, "dtype": "f32",
  "causal": false}, "shapes": [{"S": 8}, {"S": 9}]}"""
SINKS = ["--json", "r.json", "--csv", "r.csv", "--gbench", "r.gbench", "--html", "r.html", "--markdown", "r.md", "--junit", "r.xml"]
COMPARED = ["--json", "c.json", "--markdown", "c.md", "--junit", "c.xml", "--annotations", "c.txt", "--html", "c.html"]
MERGED = ["--json", "m.json", "--csv", "m.csv", "--gbench", "m.gbench", "--html", "m.html"]
COMPARED_BY_AB = ["--json", "r.json", "--compare-json", "c.json", "--markdown", "c.md", "--junit", "c.xml", "--annotations", "c.txt"]
RUN = ["--sweep", "two.json", "--device", "cpu", "--reference", "none", "--quick"]
# The program itself, and objects of tests/plugins beside it: one that always takes as long, one with a tunable.
PROGRAM, STEADY, TUNABLE = "{program}", "{steady}", "{tunable}"
AB = ["--base", PROGRAM, "--shape", "B=1,H=1,S=1,D=8,f32", "--device", "cpu", "--load", STEADY, "--modes", "hot", "--rounds", "5",
      "--threshold", "50", "--noise", "warn", "--keep", "kept"]
TUNE = ["--shape", "B=1,H=1,S=1,D=64", "--device", "cpu", "--load", TUNABLE, "--variant", "tunable:step=3"]
SETTINGS = {"STEADY_US": "300", "TUNABLE_US": "300", "TUNABLE_BEST": "3"}
WORKER = "worker"
MEASURING = ("run", "ab", "tune")
# Take seconds each; left out with --not-slow.
SLOW = ("ab", "tune")

# Name, words, the process whose allocations are refused: None for the program itself, else the first word of a child.
COMMANDS = [
    ("report", ["report", GPU, *SINKS], None),
    ("report of a journal", ["report", JOURNAL], None),
    ("reports side by side", ["report", GPU, BASELINE, "--across-devices", "--html", "s.html"], None),
    ("diagnose", ["diagnose", GPU, "--html", "d.html"], None),
    ("compare", ["compare", BASELINE, BASELINE, *COMPARED], None),
    ("gate --selftest", ["gate", "--selftest", "--from", "ten.journal", "--rounds", "5", "--json", "g.json"], None),
    ("merge", ["merge", "shard1.journal", "shard2.journal", *MERGED], None),
    ("plan", ["plan", "--sweep", "v3", "--gpu", "h200", "--json", "p.json", "--html", "p.html"], None),
    ("list", ["list", "--json"], None),
    ("describe", ["describe", "wgmma"], None),
    ("generate man", ["generate", "man"], None),
    ("run", ["run", *RUN, *SINKS, "--journal", "run.journal"], None),
    ("run, its worker", ["run", *RUN], WORKER),
    ("resume", ["run", *RUN, "--journal", "old.journal", "--resume", *SINKS], None),
    ("quick, two rounds", ["run", *RUN, "--rounds", "2"], None),
    ("ab", ["ab", *AB, *COMPARED_BY_AB], None),
    ("tune", ["tune", *TUNE, "--journal", "tune.journal", "--json", "t.json"], None),
]
UNSTEADY = tuple(name for name, words, _ in COMMANDS if words[0] in MEASURING)
PATIENCE_S = 120.0
NUMBER = re.compile(rb"[0-9][0-9.eE+-]*")


def compile_shim(folder):
    out = folder / "refuse.so"
    command = [os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-O1", "-o", out, SHIM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(INTERNAL, f"{SHIM.name} was not compiled:\n{done.stderr}")
    return out


def sanitizer_of(program):
    """The sanitizer's library, which has to be loaded behind the shim; empty without one."""
    done = subprocess.run(["ldd", shutil.which(program)], capture_output=True, text=True, check=False)
    found = re.search(r"libasan\S* => (\S+)", done.stdout)
    return found.group(1) if found else ""


def write_ten_rounds(path):
    """A journal of one cell that ten processes measured, as the gate's self-test needs: the released one has three."""
    lines = [json.loads(line) for line in MEASURED.read_text(encoding="utf-8").splitlines()]
    cell = next(line for line in lines if "cell" in line)
    again = next(line for line in lines if "again" in line)
    lines[0]["run"]["cell_count"] = 1
    rounds = [{"again": {**again["again"], "round": i}} for i in range(1, 10)]
    kept = [line for line in lines if not {"cell", "again", "end"} & line.keys()]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [*kept, cell, *rounds]))


class Trial:
    """Everything that a refusal needs to know: the program, the shim, a folder with the inputs."""

    def __init__(self, program, folder):
        self.program = str(pathlib.Path(shutil.which(program)).resolve())
        self.folder = folder
        self.sanitizer = sanitizer_of(program)
        self.shim = compile_shim(folder)
        self.inputs = folder / "inputs"
        self.inputs.mkdir()
        (self.inputs / "two.json").write_text(SWEEP)
        write_ten_rounds(self.inputs / "ten.journal")
        (folder / "leaks.txt").write_text("leak:dl_open_worker_begin\nleak:_dl_\nleak:dl_new_object\n")
        self.places = {PROGRAM: self.program, **{name: self.object_of(name) for name in (STEADY, TUNABLE)}}
        for name, words in (("old", []), ("shard1", ["--shard", "1/2"]), ("shard2", ["--shard", "2/2"])):
            subprocess.run([self.program, *RUN, *words, "--journal", f"{name}.journal"], cwd=self.inputs, capture_output=True, check=True)

    def object_of(self, name):
        return str(pathlib.Path(self.program).parent / f"tests/plugins/{name.strip('{}')}.so")

    def environment(self, where, settings):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASAN_", "LSAN_", "REFUSE_", "ATTN"))}
        kept.update(settings, LC_ALL="C", **SETTINGS, LD_PRELOAD=f"{self.shim} {self.sanitizer}".strip())
        if where is not None:
            kept["REFUSE_IN"] = where
        if self.sanitizer:
            kept["ASAN_OPTIONS"] = "verify_asan_link_order=0:exitcode=99:allocator_may_return_null=1"
            kept["LSAN_OPTIONS"] = f"suppressions={self.folder / 'leaks.txt'}:print_suppressions=0"
        return kept

    def run(self, command, **settings):
        """In a copy of the inputs. Returns the exit code, what was printed, and the files that were written."""
        where, words = command[2], [self.places.get(word, word) for word in command[1]]
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            shutil.copytree(self.inputs, folder, dirs_exist_ok=True)
            try:
                done = subprocess.run([self.program, *words], cwd=folder, env=self.environment(where, settings),
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
            except subprocess.TimeoutExpired:
                return None, b"", b"it hung", {}
            files = {}
            for path in sorted(pathlib.Path(folder).iterdir()):
                with contextlib.suppress(OSError):
                    files[path.name] = NUMBER.sub(b"#", path.read_bytes())
            return done.returncode, NUMBER.sub(b"#", done.stdout), done.stderr, files


def why_wrong(usual, seen, measures):
    """What is not right about a run of which an allocation was refused; None when nothing is. Two measurements differ."""
    code, out, err, files = seen
    text = err.decode(errors="replace")
    last = text.strip().splitlines()[-1:] or [""]
    if code is None:
        return "it hung"
    if "Sanitizer" in text or "runtime error" in text:
        return "a sanitizer's report"
    if code == usual[0]:
        same = files.keys() == usual[3].keys() and (measures or out == usual[1])
        return None if same or re.search(rb"no memory|Cannot allocate memory", out) else "the same exit code, but not the same output"
    if code not in (2, 4, 5, 6, 7, 8, 9):
        return f"exit code {code}"
    if not last[0]:
        return f"exit code {code} without a word"
    if not re.search(r"memory|MB .*refused", text, re.IGNORECASE):
        return f"exit code {code}, and memory is not named"
    return None


def places(listed, options):
    """The allocations to refuse: all, or the first of each chain of callers; or as many of these, evenly."""
    first = {}
    for number, chain in enumerate(listed, 1):
        first.setdefault(number if options.every else chain, number)
    numbers = sorted(first.values())
    most = options.at_most or len(numbers)
    return numbers if len(numbers) <= most else [numbers[i * len(numbers) // most] for i in range(most)]


def try_command(trial, command, options):
    """Returns the counts of a command and its failures."""
    name, words, _ = command
    listing = trial.folder / "list"
    listing.unlink(missing_ok=True)
    usual = trial.run(command, REFUSE_LIST=str(listing))
    listed = listing.read_text().split() if listing.exists() else []
    refused, failures = places(listed, options), []

    def refuse(number):
        said = trial.folder / f"said.{number}"
        seen = trial.run(command, REFUSE_AT=str(number), REFUSE_SAID=str(said))
        happened = said.exists()
        said.unlink(missing_ok=True)
        return number, happened, seen, why_wrong(usual, seen, words[0] in MEASURING) if happened else None

    happened = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, did, seen, why in pool.map(refuse, refused):
            happened += did
            if why is not None:
                failures.append((number, why, seen[2].decode(errors="replace")))
    if not listed:
        failures.append((0, f"no allocation was seen; exit code {usual[0]}", usual[2].decode(errors="replace")))
    return {"command": name, "allocations": len(listed), "chains": len(set(listed)), "refused": happened,
            "failed": len(failures)}, failures


def tell(row, failures):
    print(f"{'not ok' if failures else 'ok'} - {row['command']}: {row['refused']} of {row['allocations']} allocations refused, "
          f"{row['chains']} chains of callers", flush=True)
    for number, why, text in failures[:20]:
        print(f"# allocation {number}: {why}")
        for line in text.strip().splitlines()[:16]:
            print(f"#   {line}")


def recorded(record):
    """The rows of a record, by command."""
    if not record.exists():
        return {}
    with open(record, encoding="utf-8") as file:
        return {row["command"]: row for row in csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")}


def write_record(new, every):
    """What was not tried this time stays."""
    record = RECORD_EVERY if every else RECORD
    record.parent.mkdir(exist_ok=True)
    known = {**recorded(record), **{row["command"]: row for row in new}}
    rows = [known[name] for name, _, _ in COMMANDS if name in known]
    how = "every allocation" if every else "one allocation per chain of callers"
    lines = [f"# Written by scripts/proof/refuse_allocations.py --record: {how} refused once", "\t".join(rows[0])]
    record.write_text("\n".join(lines + ["\t".join(str(value) for value in row.values()) for row in rows]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    add_attnbench_option(parser)
    parser.add_argument("--every", action="store_true", help="refuse every allocation, not one per chain of callers")
    parser.add_argument("--at-most", type=int, metavar="N", help="of each command, no more than N of them")
    parser.add_argument("--not-slow", action="store_true", help=f"leave out what takes seconds each time: {', '.join(SLOW)}")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="programs at once (default 2)")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.relative_to(ROOT)}, or {RECORD_EVERY.name}")
    parser.add_argument("command", nargs="*", help="only these: " + ", ".join(f"'{name}'" for name, _, _ in COMMANDS))
    options = parser.parse_args()
    require_program(options.attnbench)
    rows, failed = [], False
    # LD_PRELOAD cannot name a folder with a blank.
    with tempfile.TemporaryDirectory(dir="/tmp" if " " in tempfile.gettempdir() else None) as folder:
        trial = Trial(options.attnbench, pathlib.Path(folder))
        for command in COMMANDS:
            if (options.command and command[0] not in options.command) or (options.not_slow and command[0] in SLOW):
                continue
            row, failures = try_command(trial, command, options)
            tell(row, failures)
            rows.append(row)
            failed = failed or bool(failures)
    if options.record:
        write_record(rows, options.every)
    print(f"1..{len(rows)}")
    return 1 if failed else 0


if __name__ == "__main__":
    run_main(main)
