#!/usr/bin/env python3
"""Makes everything that is derived from committed measurements: results/<gpu>/<sweep>.json, results/<gpu>/README.md with
its plots, and the blocks in the top README.md.

Journals (results/<gpu>/<sweep>.journal) are what runs measured and are never edited. `attnbench report` turns each into its
JSON report. The page (page.py) and the plots (plots.py) are made from the reports, from PyTorch's
(torch_<sweep>.json, by sdpa_baseline.py), from the timer's self-test (timer_selftest.json), from predictions (ladder.json)
and from tables of other scripts (timer.json, counters.json, gate.json); README.md's blocks between <!-- begin NAME --> and
<!-- end NAME --> likewise.

  scripts/results/update_results.py            write what is out of date
  scripts/results/update_results.py --check    write nothing; exit 1 and name what differs

exit 7: something that a page is made from is missing or invalid; 8: a file cannot be written; 9: attnbench, or matplotlib
(python3-matplotlib) to draw a plot that is out of date, is missing
"""
import argparse
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import page
import plots
from measured import TORCH, Reports

from lib import files as output
from lib.files import read_json
from lib.program import INPUT, INTERNAL, ROOT, Failure, code_of, execute, run_main

ATTNBENCH = os.environ.get("ATTNBENCH") or ROOT / "attnbench"
README_GPU = "h200"
FINDINGS_SHOWN = 4


def report(journal, *outputs):
    done = execute([ATTNBENCH, "report", journal, *outputs])
    if done.returncode != 0:
        raise Failure(code_of(done.returncode), f"attnbench report {journal} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def v3_output(journal):
    """attnbench's own table, with the first findings."""
    text = report(journal).split("\n")
    findings = [i for i, line in enumerate(text) if re.match(r"(severe|warning|note) ", line)]
    if len(findings) <= FINDINGS_SHOWN:
        return "\n".join(text).rstrip("\n")
    return "\n".join([*text[:findings[FINDINGS_SHOWN]], "..."])


def fill(text, blocks, where):
    """The page with all its blocks replaced; one that nothing makes would keep figures that no report holds."""
    for name in dict.fromkeys(re.findall(r"<!-- begin (\S+) -->", text)):
        if name not in blocks:
            raise Failure(INPUT, f"{where}: nothing makes its block {name}; bring its report back, or take the block out")
        pattern = re.compile(rf"(<!-- begin {name} -->\n)(?:(?!<!-- begin ).)*?(<!-- end {name} -->)", re.S)
        filled = pattern.sub(lambda match, block=blocks[name]: f"{match.group(1)}{block}\n{match.group(2)}", text)
        if len(pattern.findall(text)) != text.count(f"<!-- begin {name} -->"):
            raise Failure(INPUT, f"{where}: block {name} has no <!-- end {name} -->")
        text = filled
    return text


def read_folder(folder):
    """({path: text} of the JSON reports that the journals make, everything that the page is made from)."""
    files, sweeps = {}, {}
    for journal in sorted(folder.glob("*.journal")):
        files[journal.with_suffix(".json")] = made = report(journal, "--json", "-")
        sweeps[journal.stem] = json.loads(made)
    torch = {path.stem.removeprefix(TORCH): read_json(path) for path in sorted(folder.glob(f"{TORCH}*.json"))}
    tables = {name: read_json(folder / f"{name}.json") for name in page.TABLES if (folder / f"{name}.json").exists()}
    selftest = folder / "timer_selftest.json"
    return files, Reports(sweeps, torch, tables, read_json(selftest) if selftest.exists() else None)


def wanted_files():
    """({path: text} of every derived text file, {path: plot})."""
    files, pictures = {}, {}
    for folder in sorted(p for p in (ROOT / "results").iterdir() if p.is_dir()):
        made, reports = read_folder(folder)
        files.update(made)
        if not reports.sweeps:
            continue
        drawn = plots.plots(reports)
        pictures.update({folder / "plots" / f"{plot['name']}.svg": plot for plot in drawn})
        ladder = page.read_ladder(folder / "ladder.json") if (folder / "ladder.json").exists() else None
        files[folder / "README.md"] = page.page(folder.name, reports, ladder, [(p["name"], p["title"], p["caption"]) for p in drawn])
        if folder.name == README_GPU:
            output = v3_output(folder / "v3.journal") if "v3" in reports.sweeps else ""
            blocks = page.readme_blocks(reports, output, folder.name)
            files[ROOT / "README.md"] = fill(read_text(ROOT / "README.md"), blocks, "README.md")
    return files, pictures


def read_text(path):
    try:
        return path.read_text(encoding="utf-8")
    except ValueError as error:
        raise Failure(INPUT, f"{path}: {error}") from error


def stale_texts(files):
    return [path for path, text in files.items() if not path.exists() or read_text(path) != text]


def stale_pictures(pictures):
    """Pictures of other data or drawn by other code, and pictures that nothing makes."""
    stale = [path for path, plot in pictures.items() if not path.exists() or not plots.is_current(plot, read_text(path))]
    return stale, [path for path in sorted((ROOT / "results").glob("*/plots/*.svg")) if path not in pictures]


def draw_pictures(paths, pictures):
    """{path: bytes}"""
    try:
        return {path: plots.draw(pictures[path]) for path in paths}
    except ImportError as error:
        raise Failure(INTERNAL, f"{len(paths)} plots are out of date, and drawing them needs matplotlib ({error}): apt-get install "
                         "python3-matplotlib, then run this script with /usr/bin/python3") from error


def update(check):
    files, pictures = wanted_files()
    texts, (drawn, orphans) = stale_texts(files), stale_pictures(pictures)
    if check:
        for path in sorted([*texts, *drawn, *orphans]):
            print(f"differs: {path.relative_to(ROOT)}")
        return 1 if texts or drawn or orphans else 0
    made = {**draw_pictures(drawn, pictures), **{path: files[path].encode() for path in texts}}
    for path in sorted(made):
        path.parent.mkdir(exist_ok=True)
        output.write_whole(path, made[path])
        print(f"written: {path.relative_to(ROOT)}")
    for path in orphans:
        path.unlink()
        print(f"removed: {path.relative_to(ROOT)}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    os.chdir(ROOT)
    return update(args.check)


if __name__ == "__main__":
    run_main(main)
