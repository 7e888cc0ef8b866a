"""The generated blocks of the top README.md."""
import re

import page

from lib.program import INPUT, Failure

SHOWN_VARIANTS = ("serial", "wgmma", "cudnn")
HEADLINE = (("v3", "B8.H16.Hkv16.Sq512.Skv512.D64.f16.full"), ("mission", "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full"),
            ("mission", "B2.H8.Hkv8.Sq333.Skv333.D64.f16.causal"), ("mission", "B1.H16.Hkv16.Sq1024.Skv1024.D128.f16.full"),
            ("mission", "B4.H8.Hkv8.Sq64.Skv2048.D64.f16.causal"), ("odd", "B1.H36.Hkv36.Sq3600.Skv3600.D64.f16.full"),
            ("odd", "B1.H11.Hkv11.Sq9000.Skv9000.D128.f16.causal"), ("odd", "B1.H11.Hkv11.Sq9000.Skv9000.D256.f16.full"))


def excerpt(printed):
    """Of what `attnbench report` prints: the heading, some rows of the last case and the worst finding."""
    lines = printed.splitlines()
    start = next((i for i, line in enumerate(lines) if re.match(r"case +variant ", line)), None)
    findings = [i for i, line in enumerate(lines) if re.match(r"(severe|warning|note) ", line)]
    if start is None or not findings:
        raise Failure(INPUT, "v3: the report prints no rows or no findings, which the top README shows")
    rows = []
    for line in lines[start + 2:]:
        if not line:
            break
        rows.append(line)
    case = [line.split()[0] for line in rows if "," in line.split()[0]][-1]
    shown = [line for line in rows if line.split()[0] == case and line.split()[1] in SHOWN_VARIANTS]
    end = findings[1] if len(findings) > 1 else len(lines)
    finding = [line for line in lines[findings[0]:end] if line]
    return "\n".join([*lines[start:start + 2], *shown, "...", *finding])


def blocks(reports, printed):
    """{name: text}; `printed` is what `attnbench report` prints of the sweep v3, or None."""
    cases = [(sweep, reports.cases(sweep)[key]) for sweep, key in HEADLINE if key in reports.cases(sweep)]
    made = {"headline": page.fastest_table(cases)} if cases else {}
    if printed is not None:
        made["v3-output"] = "```\n$ ./attnbench --sweep shapes/v3.json\n" + excerpt(printed) + "\n```"
    return made
