"""Times of a journal's cell multiplied by a factor, so that they still follow from its samples and fit to its ratios."""


def times(value, factor):
    if isinstance(value, list):
        return [times(item, factor) for item in value]
    if isinstance(value, dict):
        return {key: times(item, factor) if key.endswith(("_us", "_s")) else item for key, item in value.items()}
    return value if value is None else value * factor


def slow_down(cell, factor):
    """Multiplies the medians, samples and durations of every mode, and the cell's own durations; divides its ratios."""
    for ratio in (cell.get("speedup_vs") or {}).values():
        for key in {"ratio", "ci95_low", "ci95_high", "kernels_alone"} & ratio.keys() if isinstance(ratio, dict) else ():
            ratio[key] /= factor
    cell["time"] = {mode: times(of_mode, factor) for mode, of_mode in cell["time"].items()}
    for key in ("wall_s", "gpu_s"):
        cell[key] = times(cell.get(key), factor)


def lengthen(line, factor):
    """The end of a journal whose cells take so many times as long at most."""
    if "end" in line:
        line["end"]["wall_s"] *= max(factor, 1)
