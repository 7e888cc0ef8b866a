"""results/<gpu>/bounds.md: how much of the check's bounds right kernels need."""
from measured import TORCH

from lib.tables import table

NAMED = 3  # variants of a dtype that are named; the others share a figure
DTYPES = ("f16", "bf16", "f32")


def share_of(row):
    """The largest share of any bound that a right row used: elements, rows, the whole output, hard inputs."""
    evidence = row["check"]["evidence"]
    return max(row["check"]["max_bound_ratio"], evidence["max_row_ratio"], evidence["norm_ratio"], evidence["hard_ratio"] or 0)


def was_checked_by_row(row):
    return row["status"] == "ok" and bool((row["check"] or {}).get("evidence"))


def line(what, dtype, rows):
    worst = {}
    for row in rows:
        name = row["variant"].partition(":")[0].removeprefix(TORCH)
        worst[name] = max(worst.get(name, 0), share_of(row))
    order = sorted(worst, key=worst.get, reverse=True)
    named = [f"`{name}` {worst[name]:.2f}" for name in order[:NAMED]]
    rest = [f"all others {worst[order[NAMED]]:.2f} or less"] if len(order) > NAMED else []
    return [what, dtype, str(len(rows)), ", ".join(named + rest)]


def blocks(reports):
    """The page's text under its title."""
    own = [row for report in reports.sweeps.values() for row in report["results"]]
    sources = [("the journals here: built-in and loaded kernels, cuDNN", own)]
    if reports.checked is not None:
        said = reports.checked["run"]["command"].partition(" # ")[2]
        sources.append((f"PyTorch's backends ({said})", reports.checked["results"]))
    lines = [line(what, dtype, [row for row in rows if was_checked_by_row(row) and row["shape"]["dtype"] == dtype])
             for what, rows in sources for dtype in DTYPES]
    return ["The bounds are explained in [results/check.md](../check.md). Worst over random and hard inputs of elements, rows and the "
            "whole output; 1 would be wrong. `pytorch_bounds.json` is `scripts/sdpa_baseline.py` over `tests/data/sweeps/torch.json`.",
            table(["right rows of", "dtype", "rows", "worst share of any bound, by variant"], lines, ["rows"])]
