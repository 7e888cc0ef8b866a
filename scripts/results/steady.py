"""results/<gpu>/steady.md and README's table: what a kernel reaches in a burst, and what it keeps at the card's power limit."""
from measured import own_best

from lib.reports import case_label, speedup, tflops
from lib.tables import microseconds, significant, table

SWEEP = "steady"
COLUMNS = ["B,H,S,D", "variant", "burst TFLOP/s", "steady TFLOP/s", "steady us", "SM clock", "power", "energy", "speedup burst",
           "speedup steady (95 %)"]


def watts(time):
    return "-" if time["power_w"] is None else f"{time['power_w']:.0f} W"


def megahertz(time):
    return "-" if time["sm_clock_mhz"] is None else f"{time['sm_clock_mhz']:.0f} MHz"


def energy(row):
    return f"{row['energy_pj_per_flop']:.3f} pJ/FLOP" if "energy_pj_per_flop" in row else "-"


ASIDE = " †"
ASIDE_NOTE = ("† The quotient of the two steady times lies outside of this interval. Each time was taken alone, for seconds: the card may have been "
              "warmer or cooler than in the turns of the ratio.")


def aside(row, reference):
    """Does the quotient of the two steady times contradict the interval of the ratio beside them?"""
    ratio = (row["speedup_vs"] or {}).get("steady")
    if not ratio or not reference:
        return False
    quotient = reference["time"]["steady"]["median_us"] / row["time"]["steady"]["median_us"]
    return not ratio["ci95_low"] <= quotient <= ratio["ci95_high"]


def steady_ratio(row, reference):
    ratio = (row["speedup_vs"] or {}).get("steady")
    if not ratio:
        return "-"
    return f"{ratio['ratio']:.3f} ({ratio['ci95_low']:.3f} to {ratio['ci95_high']:.3f})" + (ASIDE if aside(row, reference) else "")


def line(row, reference):
    time, burst = row["time"]["steady"], speedup(row)
    return [case_label(row["key"]), f"`{row['variant']}`", significant(tflops(row)), significant(tflops(row, "steady")),
            microseconds(time["median_us"]), megahertz(time), watts(time), energy(row), f"{burst:.3f}" if burst else "-",
            steady_ratio(row, reference)]


def is_steady(row):
    return bool(row and row["time"] and row["time"].get("steady"))


def rows_of(reports):
    """(row, its reference's row or None) of the fastest kernel here and of the others of each case, where they have a steady time."""
    made = []
    for rows in reports.cases(SWEEP).values():
        best = own_best(rows)
        shown = [best[1], *(row for row in rows.values() if best and row["variant"] != best[1]["variant"])] if best else []
        for row in filter(is_steady, shown):
            reference = rows.get((row["speedup_vs"] or {}).get("reference"))
            made.append((row, reference if is_steady(reference) else None))
    return made


def note_of(made):
    """What the mark in a table means; empty when no row has it."""
    return ASIDE_NOTE if ASIDE in made else ""


def table_blocks(reports):
    """The table, and below it what its mark means where a row has it."""
    made = table(COLUMNS, [line(*pair) for pair in rows_of(reports)], COLUMNS[2:])
    return list(filter(None, [made, note_of(made)]))


def blocks(reports):
    """The page's text under its title; nothing where no steady time was taken."""
    if not rows_of(reports):
        return []
    report = reports.sweeps[SWEEP]
    # The idle power is known if the report subtracts it: a card that had just worked was not idle.
    is_known = any("energy_over_idle_pj_per_flop" in row for row in report["results"])
    idle = report["device"]["policy"]["idle_power_w"] if is_known else None
    opening = ("A burst is the hot time: launches of milliseconds on a card that has just got work. Short launches run near the highest clock "
               "in that time; long launches may already be limited by power. The steady time is that of launches back to back for seconds, "
               "until it no longer changed (`--modes hot,steady`). Clock, power and energy are those of the steady time; power is the whole "
               "card's, by the driver's energy counter" + (f", and includes the {idle:.0f} W that it drew before the run." if idle else "."))
    ratios = ("The speedup is the reference's time over the kernel's. The burst's is taken in turns of less than a millisecond, both "
              "sides at one clock; the steady one in turns of a second, each side at the clock that it keeps alone.")
    return [opening, ratios, *table_blocks(reports)]
