"""Shared by the fake tools: the program behind a tool's own options, and the kernels that a report of it holds."""
import json
import subprocess
import sys


def run_program(words):
    """Runs what stands behind the tool's options; ends as a tool does when the program fails. Returns its report."""
    at = next(i for i, word in enumerate(words) if word.endswith("attnbench"))
    code = subprocess.run(words[at:]).returncode
    if code:
        print(f"==ERROR== The application returned an error code ({code}).")
        sys.exit(code)
    return json.load(open(words[words.index("--json", at) + 1]))


def kernels_of(report):
    """(row, launch) of every kernel, in the order of a --profile run."""
    return [(row, launch) for row in report["results"] if row["status"] == "ok"
            for _ in range(report["run"].get("profile_launches") or 1) for launch in row["launches"]]
