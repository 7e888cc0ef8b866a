"""Puts a hostile text into every string of a report and looks at all that attnbench prints of it.

usage: hostile_texts.py ATTNBENCH REPORT.json FOLDER

No line may be one that a CI runner takes for a command, and no character may control a terminal or turn the direction of
writing. Prints how many strings the readers accepted, and every line that is wrong.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys

HOSTILE = "\u00a0::stop-commands::z ##[error]x \u202e\u0085\u009b31m\n::error::y"
SHORT = "::stop-commands::z"  # where the other one is too long
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
OUTPUTS = {"report": ("json", "csv", "gbench", "html", "markdown", "junit", "annotations"), "diagnose": ("json", "html"),
           "compare": ("json", "html", "markdown", "junit", "annotations")}


def string_paths(value, path=()):
    """The paths of strings, each once: a path does not say which element of a list it is."""
    if isinstance(value, dict):
        return {found for key in value for found in string_paths(value[key], (*path, key))}
    if isinstance(value, list):
        return {found for element in value for found in string_paths(element, path)}
    return {path} if isinstance(value, str) else set()


def put(value, path, text):
    """Puts the text before each string at the path, since rows stay apart by their ends."""
    if isinstance(value, list):
        for element in value:
            put(element, path, text)
    elif isinstance(value, dict) and path[0] in value:
        if len(path) > 1:
            put(value[path[0]], path[1:], text)
        elif isinstance(value[path[0]], str):
            value[path[0]] = text + value[path[0]]


def with_text(report, path, text):
    out = copy.deepcopy(report)
    put(out, path, text)
    return out


def without_last_row(report):
    """A comparison with it has a row that fails."""
    out = copy.deepcopy(report)
    out["summary"][out["results"].pop()["status"]] -= 1
    out["summary"]["cells"] -= 1
    out["summary"]["exit_code"] = 4
    return out


def printed(program, words):
    done = subprocess.run([program, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def wrong_lines(text, are_annotations):
    for line in re.split("\r?\n", text):
        is_command = line.strip().startswith("::") or "##[" in line
        is_meant = are_annotations and re.match("::(error|warning) ", line)
        if (is_command and not is_meant) or UNSAFE.search(line):
            yield line


def commands(old, new):
    for verb, options in OUTPUTS.items():
        files = [old, new] if verb == "compare" else [new]
        yield [verb, *files], False
        for option in options:
            yield [verb, *files, f"--{option}", "-"], option == "annotations"
    yield ["report", old, new], False


def main():
    program, report, folder = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text("utf-8")), pathlib.Path(sys.argv[3])
    old, new = folder / "old.json", folder / "new.json"
    everything, accepted = report, 0
    for path in sorted(string_paths(report)):
        for text in (HOSTILE, SHORT):
            tried = with_text(everything, path, text)
            new.write_text(json.dumps(tried), "utf-8")
            if printed(program, ["report", new, "--quiet"])[0] != 7:
                everything, accepted = tried, accepted + 1
                break
    wrong = 0
    for command in (everything["run"]["command"], report["run"]["command"]):
        everything["run"]["command"] = command
        old.write_text(json.dumps(everything), "utf-8")
        new.write_text(json.dumps(without_last_row(everything)), "utf-8")
        for words, are_annotations in commands(old, new):
            for stream in printed(program, words)[1:]:
                for line in wrong_lines(stream, are_annotations):
                    wrong += 1
                    print(" ".join(map(str, words)), ascii(line)[:200])
    print(f"{accepted} strings accepted, {wrong} wrong lines")
    return wrong > 0 or accepted < 20


sys.exit(main())
