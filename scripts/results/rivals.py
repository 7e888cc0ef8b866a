"""results/<gpu>/rivals.md: the fastest kernel here beside cuDNN, FlashAttention-3 and PyTorch's flash, case by case."""
import statistics

from measured import own_best

from lib.reports import REFERENCE, case_label, hot_us, speedup, tflops
from lib.tables import microseconds, significant, table

SWEEPS = ("prefill", "odd")
FA3 = "fa3"  # FlashAttention-3, loaded
FLASH = "flash"  # PyTorch's backend
COLUMNS = ["B,H,S,D", "fastest here", "hot us", "TFLOP/s", "over cuDNN", "over FlashAttention-3", "over PyTorch's flash", "over the best"]


def over_fa3(reports, sweep, key, own, rows):
    """Timed in turns with it; where another run did that, that run's."""
    direct = reports.row(f"{sweep}_{FA3}", key, own["variant"])
    if direct and direct["speedup_vs"] and direct["speedup_vs"]["reference"] == FA3:
        return speedup(direct)
    fa3 = rows.get(FA3)
    return speedup(own) / speedup(fa3) if fa3 and fa3["time"] and speedup(fa3) else None


def over_flash(reports, sweep, key, own):
    flash = reports.torch_rows(sweep, key).get(FLASH)
    return hot_us(flash) / hot_us(own) if flash else None


def rival_rows(reports, sweep, key, rows):
    """The timed rows of cuDNN, FlashAttention-3 and PyTorch's flash; None for what was not measured."""
    fa3 = rows.get(FA3) or reports.row(f"{sweep}_{FA3}", key, FA3)
    found = [rows.get(REFERENCE), fa3, reports.torch_rows(sweep, key).get(FLASH)]
    return [row if row and row["time"] else None for row in found]


def measured(reports, sweep):
    """(row, [over cuDNN, over FlashAttention-3, over PyTorch's flash], [their rows]) of each case; None for what was not measured."""
    found = []
    for key, rows in reports.cases(sweep).items():
        own = own_best(rows)
        if own and speedup(own[1]):
            row = own[1]
            ratios = [speedup(row), over_fa3(reports, sweep, key, row, rows), over_flash(reports, sweep, key, row)]
            found.append((row, ratios, rival_rows(reports, sweep, key, rows)))
    return found


def over_best(ratios):
    return min(ratio for ratio in ratios if ratio is not None)


def shown(ratio):
    return "-" if ratio is None else f"{ratio:.3f}"


def beside(ratio, rival):
    """A ratio, and the rival's own time."""
    return shown(ratio) + (f" ({microseconds(hot_us(rival))})" if rival else "")


def case_line(row, ratios, rivals):
    return [case_label(row["key"]), f"`{row['variant']}`", microseconds(hot_us(row)), significant(tflops(row)),
            *map(beside, ratios, rivals), shown(over_best(ratios))]


def span(numbers):
    least, most = min(numbers), max(numbers)
    return f"{least}" if least == most else f"{least} to {most}"


def library_line(title, rows):
    """What a library's rows say of it: version, what one launch holds, workspace."""
    plans = [row["plan"] or {} for row in rows]
    kernels = [len(row["launches"]) + plan.get("more_kernels", 0) for row, plan in zip(rows, plans)]
    memsets = sorted({(plan.get("memsets", 0), plan.get("memset_bytes", 0)) for plan in plans})
    names = sorted({row["launches"][0]["name"].replace("_", " ") for row in rows})
    return [title, ", ".join(names), span(kernels), ", ".join(f"{count} of {size} bytes" if count else "none" for count, size in memsets),
            span([plan["workspace_bytes"] for plan in plans])]


def torch_line(reports):
    """The script that measured up to 0.2 names the versions at the end of its command, and could not see launches."""
    command = next(report["run"]["command"] for sweep, report in reports.torch.items() if sweep in SWEEPS)
    return ["PyTorch's flash", command.rpartition("# ")[2], "-", "-", "-"]


def libraries(reports, cases):
    """The table of what stands beside the kernels here."""
    lines = []
    for index, title in enumerate(("cuDNN", "FlashAttention-3")):
        rows = [rivals[index] for _, _, rivals in cases if rivals[index] and rivals[index]["launches"]]
        lines += [library_line(title, rows)] if rows else []
    if any(rivals[2] for _, _, rivals in cases):
        lines.append(torch_line(reports))
    return table(["library", "version", "kernels of a launch", "memsets of a launch", "workspace, bytes"], lines, ["workspace, bytes"])


def class_line(sweep, name, cases):
    best = [over_best(ratios) for _, ratios, _ in cases]
    means = [[ratio for ratio in column if ratio is not None] for column in zip(*(ratios for _, ratios, _ in cases))]
    worst = min(cases, key=lambda case: over_best(case[1]))
    return [sweep, name, str(len(cases)), *(shown(statistics.geometric_mean(column) if column else None) for column in means),
            shown(statistics.geometric_mean(best)), shown(min(best)), case_label(worst[0]["key"])]


def classes(cases):
    """{name: cases}"""
    made = {}
    for case in cases:
        shape = case[0]["shape"]
        made.setdefault(f"D={shape['D']} {shape['dtype']}", []).append(case)
    return made


def blocks(reports):
    """The page's text under its title; nothing where FlashAttention-3 was not measured."""
    found = {sweep: measured(reports, sweep) for sweep in SWEEPS}
    if not any(ratios[1] for cases in found.values() for _, ratios, _ in cases):
        return []
    opening = ("FlashAttention-3 (Hopper's forward kernels, built from its public sources and loaded with `--load` as a library that "
               "launches by itself) was timed beside the kernels here and cuDNN, every row checked against the oracle. The ratios over "
               "cuDNN and over FlashAttention-3 were taken in turns, so that drifting clocks cancel; where only cuDNN was timed in turns "
               "with both, the ratio over FlashAttention-3 is the quotient of two ratios. PyTorch's flash ran in another process: "
               "quotients of hot medians. Above 1 the kernel here is faster. The last column is the least of the three. In parentheses "
               "stands the other one's hot median in microseconds.")
    outputs = ("No case asks for the log-sum-exp as an output, and the kernels here and cuDNN do not store it. FlashAttention-3's kernel "
               "always does: its workspace holds 4 bytes for each query row. A memset of a launch is timed with it; for rows below 30 us "
               "[the ratio without it](README.md#the-fastest-kernel-here-beside-cudnn) is shown where it was measured.")
    names = ["sweep", "class", "cases", "over cuDNN", "over FlashAttention-3", "over PyTorch's flash", "over the best", "least", "of"]
    lines = [class_line(sweep, name, cases) for sweep in SWEEPS for name, cases in classes(found[sweep]).items()]
    made = [opening, libraries(reports, [case for cases in found.values() for case in cases]), outputs,
            "Geometric means by class:", table(names, lines, names[2:-1])]
    for sweep in SWEEPS:
        made += [f"`{sweep}`:", table(COLUMNS, [case_line(*case) for case in found[sweep]], COLUMNS[2:])]
    return made
