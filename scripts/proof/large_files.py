#!/usr/bin/env python3
"""Measures what a journal of ten thousand cells costs: its bytes a cell, and the processor seconds and the largest memory of
report, diagnose, compare, and gate --selftest of 14 processes. Writes results/reliability/large.tsv. The goal is 2 s, 300 MB
and 2 KB a cell; 6 s for gate --selftest, which judges millions of drawn rows as a comparison would.

exit 0: measured; 9: a program failed
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.program import INTERNAL, ROOT, Failure, add_attnbench_option, execute, require_program, run_main

RECORD = ROOT / "results/reliability/large.tsv"
MAKER = ROOT / "tests/large_journal.py"
SWEEP = ROOT / "tests/data/sweeps/tiny.json"
ROWS = 10000
COMMANDS = [("report", ["report", "j", "--json", "r.json", "--quiet"], 0),
            ("diagnose", ["diagnose", "r.json", "--csv", "/dev/null"], 0),
            ("compare", ["compare", "r.json", "j", "--json", "/dev/null"], 5),  # one process is no evidence
            ("gate_selftest", ["gate", "--selftest", "--from", "many", "--json", "/dev/null"], 0)]
PROCESSES = 14  # twice the default --rounds


def check(done, expected=0):
    if done.returncode != expected:
        raise Failure(INTERNAL, f"{' '.join(done.args)} ended with {done.returncode}:\n{done.stderr}")


def measure(program, folder):
    small, large = folder / "small", folder / "j"
    check(execute([program, "--sweep", SWEEP, "--filter", "causal=false", "--variants", "cpu_flash", "--device", "cpu", "--quick",
                   "--quiet", "--journal", small]))
    check(execute([sys.executable, MAKER, small, ROWS, large]))
    check(execute([sys.executable, MAKER, small, ROWS, folder / "many", PROCESSES]))
    yield "journal", "bytes_per_cell", large.stat().st_size // ROWS
    for name, words, expected in COMMANDS:
        done = subprocess.run([sys.executable, MAKER, "--run", program, *words], cwd=folder, capture_output=True, text=True,
                              check=False)
        check(done, expected)
        seconds, megabytes = done.stdout.split()
        yield name, "cpu_s", seconds
        yield name, "memory_mb", megabytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add_attnbench_option(parser)
    options = parser.parse_args()
    require_program(options.attnbench)
    program = str(pathlib.Path(options.attnbench).resolve())
    with tempfile.TemporaryDirectory() as folder:
        rows = [("what", "figure", "value"), *measure(program, pathlib.Path(folder))]
    head = f"# Written by scripts/proof/large_files.py: {ROWS} rows of a CPU's journal."
    RECORD.write_text("\n".join([head, *("\t".join(map(str, row)) for row in rows)]) + "\n")
    print(RECORD.read_text(), end="")


if __name__ == "__main__":
    run_main(main)
