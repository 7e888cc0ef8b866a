"""The table of results/history.md: what `attnbench history` finds in the runs of this repository's old commits."""
import json

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


def block(attnbench, folder):
    document = found(attnbench, folder)
    order = [words.split()[0] for words in (folder / "commits").read_text(encoding="utf-8").splitlines()]
    changes = [(series, change) for series in document["series"] for change in series["changes"]]
    place = {change["commit"]: next(i for i, commit in enumerate(order) if commit.startswith(change["commit"])) for _, change in changes}
    changes.sort(key=lambda pair: (place[pair[1]["commit"]], pair[0]["key"], pair[0]["mode"]))
    cards = sorted({series["card"] for series in document["series"]})
    head = f"{document['runs']} commits, {order[0][:7]} to {order[-1][:7]}, on {' and '.join(cards)}; {len(document['series'])} series:"
    return f"{head}\n\n" + table(COLUMNS, [line(*pair) for pair in changes], COLUMNS[-1:])
