"""results/<gpu>/pytorch.md: PyTorch's scaled_dot_product_attention beside the kernels here."""
from measured import own_best, torch_versions

from lib.reports import REFERENCE, case_label, hot_us
from lib.tables import microseconds, percent, ratio, table

SWEEPS = ("large_d", "mission", "it3", "n6", "prefill")
SAME_LIBRARY = 0.05  # two programs that run one library's kernel should agree this well


def best_of_each(reports, sweep):
    """Best kernel here against PyTorch's best backend, per case."""
    lines = []
    for key, rows in reports.cases(sweep).items():
        ours, theirs = own_best(rows), reports.torch_best(sweep, key)
        if ours and theirs:
            lines.append([case_label(ours[1]["key"]), f"`{ours[0]}`", microseconds(hot_us(ours[1])), f"`{theirs[0]}`",
                          microseconds(hot_us(theirs[1])), ratio(hot_us(theirs[1]) / hot_us(ours[1]))])
    return table(["B,H,S,D", "fastest here", "hot us", "fastest in PyTorch", "hot us ", "ratio"], lines, ["hot us", "hot us ", "ratio"])


def library_version(reports, sweep):
    """What a vendor's row calls its library: in this sweep's report, else in another one's."""
    for name in (sweep, *reports.sweeps):
        for row in reports.rows(name):
            if row["variant"] == REFERENCE and row["launches"] and row["launches"][0]["name"].startswith("cuDNN "):
                return row["launches"][0]["name"] + ("" if name == sweep else f", by the report of `{name}`")
    return "cuDNN 9, version not in the report"


def same_library(reports, sweep):
    """attnbench's cuDNN against PyTorch's: the table, and a sentence on how far they are apart."""
    lines, worst = [], 0.0
    for key in reports.cases(sweep):
        ours, theirs = reports.row(sweep, key, REFERENCE), reports.torch_rows(sweep, key).get(REFERENCE)
        if not ours or not theirs:
            continue
        cells = [case_label(ours["key"])]
        for mode in ("hot", "cold"):
            a, b = ours["time"][mode]["median_us"], theirs["time"][mode]["median_us"]
            cells += [microseconds(a), microseconds(b), f"{100 * (b / a - 1):+.1f} %"]
            worst = max(worst, abs(b / a - 1)) if mode == "hot" else worst
        lines.append(cells)
    if not lines:
        return []
    versions = torch_versions(reports.torch[sweep])
    ours = library_version(reports, sweep)
    columns = ["B,H,S,D", "attnbench hot us", "PyTorch hot us", "difference", "attnbench cold us", "PyTorch cold us", "difference "]
    verdict = "agree within" if worst <= SAME_LIBRARY else "**differ by more than**"
    return [f"cuDNN's kernel as attnbench runs it ({ours}) and as PyTorch {versions.get('torch', '?')} runs it (cuDNN "
            f"{versions.get('cuDNN', '?')}), over `{sweep}`: hot times {verdict} {percent(SAME_LIBRARY)} (largest {percent(worst)}).",
            table(columns, lines)]


def blocks(reports):
    """The page's text under its title."""
    blocks = ["`scripts/sdpa_baseline.py` times `scaled_dot_product_attention` per backend on the same inputs, as a CUDA graph (hot) and "
              "after an L2 flush (cold), checked against the same oracle. Ratio: PyTorch's best hot median over the best here; above 1 "
              "the kernel here is faster. The two ran in different processes."]
    if "v3" in reports.torch:
        blocks += same_library(reports, "v3")
    for sweep in SWEEPS:
        if sweep in reports.torch and sweep in reports.sweeps:
            blocks += [f"`{sweep}`:", best_of_each(reports, sweep)]
    return blocks
