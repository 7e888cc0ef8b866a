"""results/<gpu>/rivals.md: the fastest kernel here beside cuDNN, FlashAttention-3 and PyTorch's flash, case by case."""
import statistics

from measured import own_best

from lib.reports import case_label, hot_us, speedup, tflops
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


def measured(reports, sweep):
    """(row, [over cuDNN, over FlashAttention-3, over PyTorch's flash]) of each case; None for what was not measured."""
    found = []
    for key, rows in reports.cases(sweep).items():
        own = own_best(rows)
        if own and speedup(own[1]):
            row = own[1]
            found.append((row, [speedup(row), over_fa3(reports, sweep, key, row, rows), over_flash(reports, sweep, key, row)]))
    return found


def over_best(ratios):
    return min(ratio for ratio in ratios if ratio is not None)


def shown(ratio):
    return "-" if ratio is None else f"{ratio:.3f}"


def case_line(row, ratios):
    return [case_label(row["key"]), f"`{row['variant']}`", microseconds(hot_us(row)), significant(tflops(row)),
            *map(shown, ratios), shown(over_best(ratios))]


def class_line(sweep, name, cases):
    best = [over_best(ratios) for _, ratios in cases]
    means = [[ratio for ratio in column if ratio is not None] for column in zip(*(ratios for _, ratios in cases))]
    worst = min(cases, key=lambda case: over_best(case[1]))
    return [sweep, name, str(len(cases)), *(shown(statistics.geometric_mean(column) if column else None) for column in means),
            shown(statistics.geometric_mean(best)), shown(min(best)), case_label(worst[0]["key"])]


def classes(cases):
    """{name: cases}"""
    made = {}
    for row, ratios in cases:
        made.setdefault(f"D={row['shape']['D']} {row['shape']['dtype']}", []).append((row, ratios))
    return made


def blocks(reports):
    """The page's text under its title; nothing where FlashAttention-3 was not measured."""
    found = {sweep: measured(reports, sweep) for sweep in SWEEPS}
    if not any(ratios[1] for cases in found.values() for _, ratios in cases):
        return []
    opening = ("FlashAttention-3 (Hopper's forward kernels, built from its public sources and loaded with `--load` as a library that "
               "launches by itself) was timed beside the kernels here and cuDNN, every row checked against the oracle. The ratios over "
               "cuDNN and over FlashAttention-3 were taken in turns, so that drifting clocks cancel; where only cuDNN was timed in turns "
               "with both, the ratio over FlashAttention-3 is the quotient of two ratios. PyTorch's flash ran in another process: "
               "quotients of hot medians. Above 1 the kernel here is faster. The last column is the least of the three.")
    names = ["sweep", "class", "cases", "over cuDNN", "over FlashAttention-3", "over PyTorch's flash", "over the best", "least", "of"]
    lines = [class_line(sweep, name, cases) for sweep in SWEEPS for name, cases in classes(found[sweep]).items()]
    made = [opening, "Geometric means by class:", table(names, lines, names[2:-1])]
    for sweep in SWEEPS:
        made += [f"`{sweep}`:", table(COLUMNS, [case_line(*case) for case in found[sweep]], COLUMNS[2:])]
    return made
