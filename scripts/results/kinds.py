"""results/<gpu>/kinds.md: one table of kernels of every kind that attnbench measures, over the sweep `kinds`."""
from measured import torch_versions

from lib.program import INPUT, Failure
from lib.reports import REFERENCE, case_label, hot_us, is_vendors, speedup, tflops
from lib.tables import microseconds, percent, significant, table

SWEEP = "kinds"
# What a variant is, by the beginning of its name.
KINDS = (("py_", "Python function, `--callable`"), ("triton_", "Triton kernel, cubin and manifest, `--load`"),
         ("example_library", "library that launches by itself, `--load`"), ("example_", "shared object with a plan, `--load`"),
         (REFERENCE, "vendor's library, built in"), ("", "built in"))
COLUMNS = ["variant", "what it is", "hot us", "cold us", "TFLOP/s", "cuDNN's time over it", "error of its bound"]


def kind_of(variant):
    return next(words for start, words in KINDS if variant.startswith(start))


def against_reference(row, reference):
    """Timed in turns where the row was; of two medians where another program measured it."""
    if speedup(row):
        return f"{speedup(row):.3f}"
    return "-" if row["variant"] == REFERENCE or reference is None else f"{hot_us(reference) / hot_us(row):.3f} (medians)"


def line(row, reference):
    return [f"`{row['variant']}`", kind_of(row["variant"]), microseconds(hot_us(row)), microseconds(row["time"]["cold"]["median_us"]),
            significant(tflops(row)), against_reference(row, reference), percent(row["check"]["max_bound_ratio"])]


def case_block(reports, key, rows):
    timed = [row for row in [*rows.values(), *reports.torch_rows(SWEEP, key).values()] if row["time"]]
    reference = rows[REFERENCE] if REFERENCE in rows and rows[REFERENCE]["time"] else None
    lines = [line(row, reference) for row in sorted(timed, key=hot_us)]
    return [f"**{case_label(timed[0]['key'])}**", table(COLUMNS, lines, COLUMNS[2:])] if timed else []


def library_of(reports):
    vendors = [row for row in reports.rows(SWEEP) if row["variant"] == REFERENCE and is_vendors(row)]
    names = [row["launches"][0]["name"] for row in vendors if row["launches"]]
    return names[0] if names else "cuDNN"


def commands(reports):
    measured = [reports.sweeps[SWEEP], *([reports.torch[SWEEP]] if SWEEP in reports.torch else [])]
    return "\n".join(["```sh", *(report["run"]["command"].partition(" # ")[0] for report in measured), "```"])


def blocks(reports):
    """The page's text under its title."""
    wrong = [row["variant"] for row in reports.rows(SWEEP) if row["status"] == "wrong"]
    if wrong:
        raise Failure(INPUT, f"{SWEEP}: {wrong[0]} is wrong; the page shows kernels that were checked")
    versions = torch_versions(reports.torch[SWEEP]) if SWEEP in reports.torch else {}
    torch = f", PyTorch {versions['torch']}" if "torch" in versions else ""
    opening = ("What is built in beside what `--load` and `--callable` take, on one card, one run after the other "
               f"({library_of(reports)}{torch}). Every row was checked against the fp64 oracle before and after it was timed; the last "
               "column is its largest error as a share of what is allowed. The ratio to cuDNN was taken in turns where `attnbench` timed "
               "both, and a drift of the clocks cancels in it; rows of PyTorch ran in another process, and theirs is the quotient of two "
               "medians. `auto` launches the kernel of another row here: what differs between the two is the drift.")
    made = [block for key, rows in reports.cases(SWEEP).items() for block in case_block(reports, key, rows)]
    made_by = ("`make example` builds the objects, `scripts/export_triton.py` the cubins "
               "([kernels/example](../../kernels/example/README.md)); then:")
    return [opening, made_by, commands(reports), *made]
