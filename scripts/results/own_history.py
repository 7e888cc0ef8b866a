"""The table and the picture of results/history.md: what `attnbench history` finds in the runs of this repository's old commits."""
import html
import json
import math
import statistics

from lib.program import Failure, code_of, execute
from lib.reports import case_label
from lib.tables import table

FOLDER = "history"  # of results/<gpu>: runs/, commits
COLUMNS = ["B,H,S,D", "variant", "mode", "what", "commit", "surely in", "time (95 %)"]


def percent(ratio):
    return f"{100 * (ratio - 1):+.1f} %"


def found(attnbench, folder):
    """The document of `attnbench history`; 1 is its answer where something is slower."""
    done = execute([attnbench, "history", folder / "runs", "--commits", folder / "commits", "--json", "-"])
    if done.returncode not in (0, 1):
        raise Failure(code_of(done.returncode), f"attnbench history {folder} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def line(series, change):
    bounds = f"{percent(change['time_ratio'])} ({percent(change['bound_low_ratio'])} to {percent(change['bound_high_ratio'])})"
    is_whole = change["state"] == "stands"
    what = change["what"] if is_whole else f"{change['what']}, {change['state']}"
    if change["state"] == "partly reverted":
        bounds += f", {percent(change['left_ratio'])} left"
    return [case_label(series["key"]), f"`{series['variant']}`", series["mode"], what, change["commit"], f"{change['good']}..{change['bad']}", bounds]


def commits_of(folder):
    return [words.split()[0] for words in (folder / "commits").read_text(encoding="utf-8").splitlines()]


def place_of(order, commit):
    return next(i for i, whole in enumerate(order) if whole.startswith(commit))


def block(document, folder):
    order = commits_of(folder)
    changes = [(series, change) for series in document["series"] for change in series["changes"]]
    changes.sort(key=lambda pair: (place_of(order, pair[1]["commit"]), pair[0]["key"], pair[0]["mode"]))
    cards = sorted({series["card"] for series in document["series"]})
    head = f"{document['runs']} commits, {order[0][:7]} to {order[-1][:7]}, on {' and '.join(cards)}; {len(document['series'])} series:"
    return f"{head}\n\n" + table(COLUMNS, [line(*pair) for pair in changes], COLUMNS[-1:])


# ---- the picture ------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 460, 190  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 52, 446, 34, 150
SLOWER, FASTER = "#b3141d", "#12692f"


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def percents(series, places):
    """The time by the ratio in turns, in percent over the level before the first change, and the places of the changes."""
    levels = [-math.log(point["ratio"]) for point in series["points"]]
    at = [next(i for i, point in enumerate(series["points"]) if point["commit"] == change["commit"]) for change in series["changes"]]
    base = statistics.mean(levels[:at[0]])
    return [(places[i], 100 * math.expm1(level - base)) for i, level in enumerate(levels)], [places[i] for i in at]


def panel(series, order, x, y):
    points, steps = percents(series, [place_of(order, point["commit"]) for point in series["points"]])
    step = next(step for step in (1, 2, 5, 10, 20) if max(p for _, p in points) - min(p for _, p in points) <= 5 * step)
    low, high = step * math.floor(min(p for _, p in points) / step), step * math.ceil(max(p for _, p in points) / step)

    def across(place):
        return LEFT + (RIGHT - LEFT) * (place + 0.5) / len(order)

    def up(value):
        return BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low)

    out = [f'<g transform="translate({x} {y})">', text(LEFT, 14, f"{series['variant']}, {series['mode']}: {case_label(series['key'])}", more=' font-weight="bold"')]
    for value in range(low, high + 1, step):
        out.append(f'<path stroke="{"#888888" if value == 0 else "#dddddd"}" d="M{LEFT} {up(value):.1f}H{RIGHT}"/>')
        out.append(text(LEFT - 6, up(value) + 3.5, f"{value} %", "end"))
    out.append(f'<path fill="none" stroke="#0b62c4" stroke-width="1.6" d="M{" L".join(f"{across(p):.1f} {up(v):.1f}" for p, v in points)}"/>')
    out += [f'<circle cx="{across(p):.1f}" cy="{up(v):.1f}" r="2.2" fill="#0b62c4"/>' for p, v in points]
    for row, (place, change) in enumerate(zip(steps, series["changes"])):
        colour = SLOWER if change["time_ratio"] > 1 else FASTER
        out.append(f'<path stroke="{colour}" stroke-dasharray="3 2" d="M{across(place - 0.5):.1f} {TOP}V{BOTTOM}"/>')
        out.append(text(across(place - 0.5) + 4, BOTTOM + 14 + 13 * (row % 2), f"{percent(change['time_ratio'])} {change['commit']}", more=f' fill="{colour}"'))
    return "\n".join([*out, "</g>"])


def picture(document, folder):
    """An SVG with a panel for each series that changed."""
    order = commits_of(folder)
    changed = [series for series in document["series"] if series["changes"]]
    rows = (len(changed) + 1) // 2
    about = f"Time of {len(changed)} series over {len(order)} commits, in percent over the first level"
    panels = [panel(series, order, WIDTH * (i % 2), HEIGHT * (i // 2)) for i, series in enumerate(changed)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT * rows}" role="img" font-family="DejaVu Sans, sans-serif" '
            f'font-size="10.5" fill="#222222">\n<title>{about}</title>\n<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(panels) + "\n</svg>\n")
