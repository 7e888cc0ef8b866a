#!/usr/bin/env python3
"""Makes everything that is derived from committed journals: results/<gpu>/<sweep>.json and the blocks in README.md.

Journals (results/<gpu>/<sweep>.journal) are what runs measured and are never edited. `attnbench report` turns each into its
JSON report; README.md's blocks between <!-- begin NAME --> and <!-- end NAME --> are made from journal and report.

  scripts/update_results.py            write what is out of date
  scripts/update_results.py --check    write nothing; exit 1 and name what differs

Python's standard library only.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ATTNBENCH = os.environ.get("ATTNBENCH", ROOT / "attnbench")
README_GPU = "h200"
README_SWEEPS = ("mission", "n6")
FINDINGS_SHOWN = 4


def report(journal, *outputs):
    done = subprocess.run([ATTNBENCH, "report", journal, *outputs], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"attnbench report {journal} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def microseconds(value):
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def case_label(shape):
    heads = f"{shape['Hq']}" if shape["Hq"] == shape["Hkv"] else f"{shape['Hq']}/{shape['Hkv']}"
    length = f"{shape['Sq']}" if shape["Sq"] == shape["Skv"] else f"{shape['Sq']}x{shape['Skv']}"
    mask = "causal" if shape["causal"] else "full"
    return f"{shape['B']},{heads},{length},{shape['D']} {shape['dtype']} {mask}"


def speed_cell(result):
    """Hot median in us, and the reference's time over it where the two were timed in turns."""
    if not result["time"]:
        return result["status"]
    against = (result["speedup_vs"] or {}).get("hot")
    return microseconds(result["time"]["hot"]["median_us"]) + (f" ({against['ratio']:.2f}x)" if against else "")


def speed_table(data):
    """One row a case, one column a variant that was measured anywhere in the sweep."""
    variants = list(dict.fromkeys(r["variant"] for r in data["results"] if r["time"]))
    cases = {}
    for r in data["results"]:
        cases.setdefault(r["key"], (case_label(r["shape"]), {}))[1][r["variant"]] = r
    lines = ["| B,H,S,D | " + " | ".join(f"`{v}`" for v in variants) + " |", "|---" + "|--:" * len(variants) + "|"]
    for label, rows in cases.values():
        lines.append(f"| {label} | " + " | ".join(speed_cell(rows[v]) for v in variants) + " |")
    return "\n".join(lines)


def run_facts(data):
    run, device = data["run"], data["device"]
    return (f"Measured on one {device['name']} (driver {device['driver']}, CUDA {data['tool']['cuda']}, nothing locked): "
            f"`{run['command']}`, {run['cells']} cells in {run['wall_s']:.1f} s wall, of which "
            f"{run['overhead_s']:.2f} s were not device work.")


def readme_blocks(reports, folder):
    """Text of each block by name."""
    text = report(folder / "v3.journal").split("\n")
    findings = [i for i, line in enumerate(text) if re.match(r"(severe|warning|note) ", line)]
    shown = text[:findings[FINDINGS_SHOWN]] + ["..."]
    tables = {name: f"`{name}`: {data['sweep']['about']}\n\n{speed_table(data)}" for name, data in reports.items()}
    return {"v3-output": "```\n$ ./attnbench --sweep shapes/v3.json\n" + "\n".join(shown) + "\n```",
            "v3-facts": run_facts(reports["v3"]),
            "main-tables": "\n\n".join(tables[name] for name in README_SWEEPS),
            "all-tables": "\n\n".join(tables.values())}


def fill(text, blocks):
    """The page with every block that it has a place for replaced."""
    for name, block in blocks.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.S)
        text = pattern.sub(lambda match, block=block: f"{match.group(1)}{block}\n{match.group(2)}", text)
    return text


def wanted_files():
    """Every derived file and what it should hold."""
    files = {}
    for folder in sorted(p for p in (ROOT / "results").iterdir() if p.is_dir()):
        reports = {}
        for journal in sorted(folder.glob("*.journal")):
            files[journal.with_suffix(".json")] = made = report(journal, "--json", "-")
            reports[journal.stem] = json.loads(made)
        if folder.name == README_GPU and reports:
            blocks = readme_blocks(reports, folder)
            for page in (ROOT / "README.md", folder / "README.md"):
                if page.exists():
                    files[page] = fill(page.read_text(), blocks)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    os.chdir(ROOT)
    stale = [(path, text) for path, text in wanted_files().items() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        print(f"{'differs' if args.check else 'written'}: {path.relative_to(ROOT)}")
        if not args.check:
            path.write_text(text)
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
