#!/usr/bin/env python3
"""Makes everything that is derived from committed measurements: the pages and plots of results/<gpu>/ and the generated
blocks of the top README.md.

Journals (results/<gpu>/<sweep>.journal) are what runs measured and are never edited; `attnbench report` turns each into a
report. The pages and plots are made from these reports, from PyTorch's (torch_<sweep>.json, by sdpa_baseline.py), from
the timer's self-test (timer_selftest.json), from tables of scripts/proof/ (timer.json, counters.json, gate.json), and
from what is written by hand: predictions (ladder.json), claims (origins.json) and goals (goal_list.json). A generated block of README.md
is between <!-- begin NAME --> and <!-- end NAME -->; the names are v3-output, headline and steady. results/history.md has one too,
own-history, from the runs of old commits in results/<gpu>/history.

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

import goals
import own_history
import page
import plots
import readme
from ladder import read as read_ladder
from measured import TORCH, Reports

from lib import files, program
from lib.program import INPUT, INTERNAL, ROOT, Failure, code_of, execute
from lib.reports import from_journal

README_GPU = "h200"
HISTORY_GPU = "h100"  # whose folder has the runs of old commits


def printed_report(attnbench, journal):
    done = execute([attnbench, "report", journal])
    if done.returncode != 0:
        raise Failure(code_of(done.returncode), f"attnbench report {journal} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


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


def optional_json(path):
    return files.read_json(path) if path.exists() else None


def read_folder(folder, attnbench):
    sweeps = {journal.stem: json.loads(from_journal(journal, attnbench)) for journal in sorted(folder.glob("*.journal"))}
    torch = {path.stem.removeprefix(TORCH): files.read_json(path) for path in sorted(folder.glob(f"{TORCH}*.json"))}
    tables = {name: optional_json(folder / f"{name}.json") for name in page.TABLES}
    return Reports(sweeps, torch, {name: table for name, table in tables.items() if table is not None},
                   optional_json(folder / "timer_selftest.json"), optional_json(folder / "pytorch_bounds.json"),
                   optional_json(folder / "goals_counters.json"))


def wanted_files(attnbench):
    """({path: text} of every derived text file, {path: plot})."""
    texts, pictures = {}, {}
    for folder in sorted(p for p in (ROOT / "results").iterdir() if p.is_dir()):
        # What is written by hand first: its mistakes are told at once.
        predictions = read_ladder(folder / "ladder.json") if (folder / "ladder.json").exists() else None
        claims = optional_json(folder / "origins.json")
        aims = goals.read(folder / "goal_list.json") if (folder / "goal_list.json").exists() else None
        reports = read_folder(folder, attnbench)
        if not reports.sweeps:
            continue
        drawn = plots.plots(reports)
        pictures.update({folder / "plots" / f"{plot['name']}.svg": plot for plot in drawn})
        captions = [(plot["name"], plot["title"], plot["caption"]) for plot in drawn]
        made = page.pages(folder.name, reports, page.Written(predictions, claims, aims), captions)
        texts.update({folder / name: text for name, text in made.items()})
        if folder.name == README_GPU:
            printed = printed_report(attnbench, folder / "v3.journal") if "v3" in reports.sweeps else None
            texts[ROOT / "README.md"] = fill(read_text(ROOT / "README.md"), readme.blocks(reports, printed), "README.md")
    history = ROOT / "results" / HISTORY_GPU / own_history.FOLDER
    if history.exists():
        path = ROOT / "results" / "history.md"
        document = own_history.found(attnbench, history)
        texts[path] = fill(read_text(path), {"own-history": own_history.block(document, history)}, "results/history.md")
        texts[history / "curves.svg"] = own_history.picture(document, history)
    return texts, pictures


def read_text(path):
    try:
        return path.read_text(encoding="utf-8")
    except ValueError as error:
        raise Failure(INPUT, f"{path}: {error}") from error


def stale_texts(texts):
    return [path for path, text in texts.items() if not path.exists() or read_text(path) != text]


def stale_pictures(pictures):
    """Pictures of other data or drawn by other code."""
    return [path for path, plot in pictures.items() if not path.exists() or not plots.is_current(plot, read_text(path))]


def orphans(texts, pictures):
    """Generated pages and pictures that nothing makes any more."""
    pages = [path for path in sorted((ROOT / "results").glob("*/*.md")) if path not in texts and page.GENERATED in read_text(path)]
    return pages + [path for path in sorted((ROOT / "results").glob("*/plots/*.svg")) if path not in pictures]


def draw_pictures(paths, pictures):
    """{path: bytes}"""
    try:
        return {path: plots.draw(pictures[path]) for path in paths}
    except ImportError as error:
        raise Failure(INTERNAL, f"{len(paths)} plots are out of date, and drawing them needs matplotlib ({error}): apt-get install "
                                "python3-matplotlib, then run this script with /usr/bin/python3") from error


def update(attnbench, check):
    texts, pictures = wanted_files(attnbench)
    old_texts, old_pictures, gone = stale_texts(texts), stale_pictures(pictures), orphans(texts, pictures)
    if check:
        for path in sorted([*old_texts, *old_pictures, *gone]):
            print(f"differs: {path.relative_to(ROOT)}")
        return 1 if old_texts or old_pictures or gone else 0
    made = {**draw_pictures(old_pictures, pictures), **{path: texts[path] for path in old_texts}}
    for path in sorted(made):
        path.parent.mkdir(exist_ok=True)
        files.write_whole(path, made[path])
        print(f"written: {path.relative_to(ROOT)}")
    for path in gone:
        path.unlink()
        print(f"removed: {path.relative_to(ROOT)}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; name what is out of date")
    program.add_attnbench_option(parser)
    args = parser.parse_args()
    program.require_program(args.attnbench)
    attnbench = pathlib.Path(args.attnbench).resolve() if os.sep in args.attnbench else args.attnbench
    os.chdir(ROOT)
    return update(attnbench, args.check)


if __name__ == "__main__":
    program.run_main(main)
