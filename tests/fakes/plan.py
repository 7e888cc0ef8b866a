"""Shared by the fake tools: the program behind a tool's own options, and the kernels that a report of it holds."""
import json
import pathlib
import subprocess
import sys


def run_program(words):
    """Runs what stands behind the tool's options; says as ncu does that it failed. Returns its report and exit code."""
    at = next(i for i, word in enumerate(words) if word.endswith("attnbench"))
    code = subprocess.run(words[at:]).returncode
    if code:
        print(f"==ERROR== The application returned an error code ({code}).")
    report = pathlib.Path(words[words.index("--json", at) + 1])
    if not report.exists():
        sys.exit(code)
    return json.loads(report.read_text()), code


def kernels_of(report):
    """(row, launch) of every kernel, in the order of a --profile run."""
    return [(row, launch) for row in report["results"] if row["status"] == "ok"
            for _ in range(report["run"].get("profile_launches") or 1) for launch in row["launches"]]
