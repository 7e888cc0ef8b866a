"""results/<gpu>/problems.md: what is more than dense attention (windows, ragged batches, lists of blocks, e4m3, pages, latent attention), by sweep."""
from lib.reports import case_label, hot_us, speedup, tflops
from lib.tables import microseconds, percent, significant, table

SWEEPS = ("window", "mla_prefill", "ragged", "layouts", "sparse", "fp8", "paged", "kv8", "serving", "mla_decode")
COLUMNS = ["B,H,S,D", "variant", "hot us", "TFLOP/s", "GB/s", "cuDNN time / this time", "error of its bound"]


def line(row):
    return [case_label(row["key"]), f"`{row['variant']}`", microseconds(hot_us(row)), significant(tflops(row)),
            significant(row["gb_per_s"]["hot"]), f"{speedup(row):.3f}" if speedup(row) else "-", percent(row["check"]["max_bound_ratio"])]


def sweep_blocks(reports, sweep):
    timed = [row for row in reports.rows(sweep) if row["time"]]
    about = reports.sweeps[sweep]["sweep"]["about"]
    stop = "" if about.endswith(("?", ".")) else "."
    return [f"## {sweep}", f"{about[:1].upper()}{about[1:]}{stop}", table(COLUMNS, [line(row) for row in timed], COLUMNS[2:])] if timed else []


def blocks(reports):
    """The page's text under its title; nothing where none of the sweeps was measured."""
    measured = [sweep for sweep in SWEEPS if sweep in reports.sweeps]
    if not measured:
        return []
    opening = ("Hot medians. TFLOP/s counts the pairs of queries and keys that are seen; masked pairs are not counted. GB/s counts once each "
               "element that some row needs. The ratio to cuDNN was taken in turns, where cuDNN takes the case. The last "
               "column is the row's largest error as a share of what is allowed.")
    return [opening, *(block for sweep in measured for block in sweep_blocks(reports, sweep))]
