#!/usr/bin/env python3
"""Makes everything that is derived from committed measurements: results/<gpu>/<sweep>.json, results/<gpu>/README.md with
its plots, and the blocks in the top README.md.

Journals (results/<gpu>/<sweep>.journal) are what runs measured and are never edited. `attnbench report` turns each into its
JSON report. The page (results_page.py) and the plots (results_plots.py) are made from the reports, from PyTorch's
(torch_<sweep>.json, by sdpa_baseline.py), from the timer's self-test (timer_selftest.json), from predictions (ladder.json)
and from tables of other scripts (timer.json, counters.json, gate.json); README.md's blocks between <!-- begin NAME --> and
<!-- end NAME --> likewise.

  scripts/update_results.py            write what is out of date
  scripts/update_results.py --check    write nothing; exit 1 and name what differs

Python's standard library only, except that a plot that is out of date needs matplotlib (python3-matplotlib) to be drawn.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import results_page
import results_plots
from report_data import TORCH, Reports, read_json

ROOT = pathlib.Path(__file__).resolve().parent.parent
ATTNBENCH = os.environ.get("ATTNBENCH", ROOT / "attnbench")
README_GPU = "h200"
FINDINGS_SHOWN = 4


def report(journal, *outputs):
    done = subprocess.run([ATTNBENCH, "report", journal, *outputs], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"attnbench report {journal} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def v3_output(journal):
    """attnbench's own table, with the first findings."""
    text = report(journal).split("\n")
    findings = [i for i, line in enumerate(text) if re.match(r"(severe|warning|note) ", line)]
    return "\n".join(text[:findings[FINDINGS_SHOWN]] + ["..."])


def fill(text, blocks):
    """The page with every block that it has a place for replaced."""
    for name, block in blocks.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.S)
        text = pattern.sub(lambda match, block=block: f"{match.group(1)}{block}\n{match.group(2)}", text)
    return text


def read_folder(folder):
    """({path: text} of the JSON reports that the journals make, everything that the page is made from)."""
    files, sweeps = {}, {}
    for journal in sorted(folder.glob("*.journal")):
        files[journal.with_suffix(".json")] = made = report(journal, "--json", "-")
        sweeps[journal.stem] = json.loads(made)
    torch = {path.stem.removeprefix(TORCH): read_json(path) for path in sorted(folder.glob(f"{TORCH}*.json"))}
    tables = {name: read_json(folder / f"{name}.json") for name in results_page.TABLES if (folder / f"{name}.json").exists()}
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
        plots = results_plots.plots(reports)
        pictures.update({folder / "plots" / f"{plot['name']}.svg": plot for plot in plots})
        ladder = read_json(folder / "ladder.json") if (folder / "ladder.json").exists() else None
        files[folder / "README.md"] = results_page.page(folder.name, reports, ladder, [(p["name"], p["title"], p["caption"]) for p in plots])
        if folder.name == README_GPU:
            output = v3_output(folder / "v3.journal") if "v3" in reports.sweeps else ""
            files[ROOT / "README.md"] = fill((ROOT / "README.md").read_text(), results_page.readme_blocks(reports, output, folder.name))
    return files, pictures


def stale_texts(files):
    return [path for path, text in files.items() if not path.exists() or path.read_text() != text]


def stale_pictures(pictures):
    """Pictures of other data or drawn by other code, and pictures that nothing makes."""
    stale = [path for path, plot in pictures.items() if not path.exists() or not results_plots.is_current(plot, path.read_text())]
    return stale, [path for path in sorted((ROOT / "results").glob("*/plots/*.svg")) if path not in pictures]


def write_pictures(paths, pictures):
    try:
        for path in paths:
            picture = results_plots.draw(pictures[path])
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(picture)
    except ImportError as error:
        raise ValueError(f"{len(paths)} plots are out of date, and drawing them needs matplotlib ({error}): apt-get install "
                         "python3-matplotlib, then run this script with /usr/bin/python3") from error


def update(check):
    files, pictures = wanted_files()
    texts, (drawn, orphans) = stale_texts(files), stale_pictures(pictures)
    for path in sorted([*texts, *drawn, *orphans]):
        print(f"{'differs' if check else 'removed' if path in orphans else 'written'}: {path.relative_to(ROOT)}")
    if check:
        return 1 if texts or drawn or orphans else 0
    for path in texts:
        path.write_text(files[path])
    for path in orphans:
        path.unlink()
    write_pictures(drawn, pictures)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    os.chdir(ROOT)
    try:
        return update(args.check)
    except ValueError as error:
        print(f"update_results.py: {error}", file=sys.stderr)
        return 9


if __name__ == "__main__":
    sys.exit(main())
