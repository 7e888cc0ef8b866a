"""The generated blocks of the top README.md."""
import re

import page
import rivals
import steady
from measured import PICKER, own_best

from lib.program import INPUT, Failure
from lib.reports import REFERENCE, hot_us
from lib.tables import microseconds

SHOWN_VARIANTS = ("serial", "wgmma", "cudnn")
HEADLINE = (("v3", "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full"), ("v3", "B8.H16.Hkv16.Sq512.Skv512.D64.f16.full"),
            ("decode", "B1.H32.Hkv8.Sq1.Skv4096.D128.f16.full"), ("decode", "B1.H32.Hkv8.Sq1.Skv131072.D128.f16.full"),
            ("prefill", "B32.H16.Hkv16.Sq512.Skv512.D128.f16.causal"),
            ("prefill", "B1.H16.Hkv16.Sq16384.Skv16384.D128.f16.causal"),
            ("prefill", "B1.H8.Hkv8.Sq16384.Skv16384.D256.f16.full"), ("odd", "B1.H36.Hkv36.Sq3600.Skv3600.D64.f16.full"))


def picked(rows):
    """The row of `auto` where it was measured, else the fastest here, which is what it picks."""
    row = rows.get(PICKER)
    return (PICKER, row) if row and row["time"] else own_best(rows)


def library_version(cases, reports):
    """What the headline's times depend on: "cuDNN 9.14.0; FlashAttention 3 025110; driver ..."."""
    rows = [rows[REFERENCE] for _, rows in cases if REFERENCE in rows]
    rows += [row for sweep, rows in cases for row in rivals.rival_rows(reports, sweep, next(iter(rows.values()))["key"], rows)[1:2] if row]
    names = {launch["name"].replace("_", " "): None for row in rows for launch in row["launches"][:1]}
    device = reports.device
    return (f"{'; '.join(names)}; driver {device['driver']}; clocks not locked, {device['sm_clock_max_mhz']:.0f} MHz at most. "
            "A dash: not measured. [rivals.md](results/h200/rivals.md) has FlashAttention-3 and PyTorch's flash in every case.")


def headline(cases, reports):
    def beside_fa3(sweep, rows, best):
        fa3 = rivals.rival_rows(reports, sweep, best["key"], rows)[1]
        ratio = rivals.over_fa3(reports, sweep, best["key"], best, rows)
        return [microseconds(hot_us(fa3)) if fa3 else "-", rivals.shown(ratio)]

    made = page.fastest_table(cases, picked, "kernel here", beside_fa3, ["FlashAttention-3 us", "speedup vs it"])
    return "\n\n".join(filter(None, (made, page.note_of(made), library_version(cases, reports))))


def excerpt(printed):
    """Of what `attnbench report` prints: what is fastest, the heading, some rows of the last case, and the worst finding."""
    lines = printed.splitlines()
    start = next((i for i, line in enumerate(lines) if re.match(r" +variant +status\b", line)), None)
    findings = [i for i, line in enumerate(lines) if re.match(r"(severe|warning|note) ", line)]
    if start is None or not findings:
        raise Failure(INPUT, "v3: the report prints no rows or no findings, which the top README shows")
    cases = [i for i, line in enumerate(lines) if re.match(r"B\d+\.H\d+\.", line) and i < findings[0]]
    shown = []
    for line in lines[cases[-1] + 1:]:
        if not re.match(r"[ >!] \w", line):
            break
        if line[2:].split()[0] in SHOWN_VARIANTS:
            shown.append(line)
    end = findings[1] if len(findings) > 1 else len(lines)
    finding = [line for line in lines[findings[0]:end] if line]
    fastest = [line for line in lines if line.startswith("fastest: ")]
    return "\n".join([*fastest, "", *lines[start:start + 2], lines[cases[-1]], *shown, "...", *finding, "..."])


def blocks(reports, printed):
    """{name: text}; `printed` is what `attnbench report` prints of the sweep v3, or None."""
    cases = [(sweep, reports.cases(sweep)[key]) for sweep, key in HEADLINE if key in reports.cases(sweep)]
    made = {"headline": headline(cases, reports)} if cases else {}
    if steady.rows_of(reports):
        made["steady"] = "\n\n".join(steady.table_blocks(reports))
    if printed is not None:
        made["v3-output"] = "```\n$ ./attnbench --sweep shapes/v3.json\n" + excerpt(printed) + "\n```"
    return made
