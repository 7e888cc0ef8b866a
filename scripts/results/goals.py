"""results/<gpu>/goals.md: figures that kernels were to reach (goal_list.json), in a burst (hot) and steady, and what limits the kernels that
miss them."""
from lib.files import read_json
from lib.program import INPUT, Failure
from lib.tables import percent, significant, table

SCHEMA = "attnbench.goals/1"
MODES = {"burst": "hot", "steady": "steady"}
RATES = {"tflop_per_s": ("TFLOP/s", 0), "gb_per_s": ("TB/s", 2)}  # unit, digits
CLOSE = 0.01  # of the goal; another run may lie on its other side
COLUMNS = ["problem", "variant", "what", "known before", "goal", "burst", "steady", "reached"]


# ---- goal_list.json, which is written by hand -----------------------------------------------------------------------

def read(path):
    document = read_json(path)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or not all(
            isinstance(document.get(key), list) for key in ("about", "groups")):
        raise Failure(INPUT, f'{path}: not a list of goals; it needs "schema": "{SCHEMA}", and the lists "about" and "groups"')
    for group in document["groups"]:
        if not isinstance(group, dict) or not isinstance(group.get("title"), str) or not isinstance(group.get("goals"), list):
            raise Failure(INPUT, f'{path}: a group needs "title" and "goals"')
        for goal in group["goals"]:
            check_goal(goal, f"{path}: {group['title']}")
    return document


def check_goal(goal, where):
    missing = [key for key in ("problem", "row") if not isinstance(goal.get(key), str)]
    if missing:
        raise Failure(INPUT, f'{where}: a goal has no "{missing[0]}"')
    given = [key for key in ("least", "most") if isinstance(goal.get(key), (int, float))]
    if len(given) != 1:
        raise Failure(INPUT, f'{where}, {goal["problem"]}: give one number, "least" or "most"')
    if goal.get("figure") not in FIGURES:
        raise Failure(INPUT, f'{where}, {goal["problem"]}: "figure" must be one of {", ".join(FIGURES)}')


# ---- figures: of a goal's rows in one mode; None where that mode was not measured --------------------------------

def total_us(reports, cells, mode, where):
    """The sum of the medians of rows, "A + B"."""
    times = [(reports.cell(cell, where)["time"].get(mode) or {}).get("median_us") for cell in cells.split(" + ")]
    return None if None in times else sum(times)


def rate(key):
    def figure(reports, goal, mode, where):
        value = reports.cell(goal["row"], where)[key].get(mode)
        return value / 1000 if value and key == "gb_per_s" else value
    return figure


def time_ratio(reports, goal, mode, where):
    """The row's time over that of `over`."""
    own, other = (total_us(reports, goal[key], mode, where) for key in ("row", "over"))
    return own / other if own and other else None


def speed_ratio(reports, goal, mode, where):
    ratio = time_ratio(reports, goal, mode, where)
    return 1 / ratio if ratio else None


def rate_ratio(key):
    """The row's rate over that of `over`, which is another problem."""
    def figure(reports, goal, mode, where):
        own, other = (reports.cell(goal[side], where)[key].get(mode) for side in ("row", "over"))
        return own / other if own and other else None
    return figure


def over_floor(reports, goal, mode, where):
    """The row's time over the largest of its compute and memory floors."""
    roof = reports.cell(goal["row"], where)["roof"].get(mode)
    return roof["floor_ratio"] if roof else None


def speedup(reports, goal, mode, where):
    """The reference's time over the row's, timed in turns."""
    against = (reports.cell(goal["row"], where)["speedup_vs"] or {}).get(mode)
    return against["ratio"] if against else None


def least_speedup(reports, goal, mode, where):
    """Of a sweep: the smallest ratio to the reference in turns that the variant has in any case."""
    sweep, variant = (goal["row"].split() + [None])[:2]
    ratios = []
    for row in reports.rows(sweep):
        if row["variant"] != variant:
            continue
        against = (reports.cell(f"{sweep} {row['key']} {variant}", where)["speedup_vs"] or {}).get(mode)
        ratios += [against["ratio"] if against else None]
    if mode == MODES["burst"] and (not ratios or None in ratios):
        raise Failure(INPUT, f'{where}: no report has ratios of "{goal["row"]}" in each case; write "sweep variant"')
    return None if None in ratios else min(ratios)


# kind: (what the column says, how to compute it)
FIGURES = {
    "tflop_per_s": ("rate", rate("tflop_per_s")),
    "gb_per_s": ("rate", rate("gb_per_s")),
    "time_ratio": ("time over {than}", time_ratio),
    "speed_ratio": ("speed over {than}", speed_ratio),
    "rate_ratio": ("TFLOP/s over {than}", rate_ratio("tflop_per_s")),
    "bytes_ratio": ("GB/s over {than}", rate_ratio("gb_per_s")),
    "over_floor": ("time over the roofs' floor", over_floor),
    "speedup": ("speed over {than}, in turns", speedup),
    "least_speedup": ("speed over {than}, in turns, the least case", least_speedup),
}


def figure(reports, goal, mode, where):
    try:
        return FIGURES[goal["figure"]][1](reports, goal, mode, where)
    except KeyError as error:
        raise Failure(INPUT, f'{where}, {goal["problem"]}: has no {error}') from error


# ---- the table --------------------------------------------------------------------------------------------------

def written(goal, value):
    if value is None:
        return "-"
    if goal["figure"] in RATES:
        unit, digits = RATES[goal["figure"]]
        return f"{value:.{digits}f} {unit}"
    return f"{value:.3f}"


def holds(goal, value):
    return value >= goal["least"] if "least" in goal else value <= goal["most"]


def modes_reached(goal, values):
    """Of the measured modes: those in which the goal holds."""
    return [name for name, value in values.items() if value is not None and holds(goal, value)]


def is_reached(goal, values):
    """In every mode that was measured."""
    return modes_reached(goal, values) == [name for name, value in values.items() if value is not None]


def is_close(goal, values):
    """Is one of the figures so near to the goal that another run may lie on its other side?"""
    aim = goal.get("least", goal.get("most"))
    return any(value is not None and abs(value / aim - 1) < CLOSE for value in values.values())


def verdict(goal, values):
    reached, missing = modes_reached(goal, values), [name for name, value in values.items() if value is None]
    said = "no" if not reached else "yes" if len(reached) == len(MODES) else f"{reached[0]} only"
    if reached and missing:
        said = f"{reached[0]}; {missing[0]} not measured"
    return said + (" (close)" if is_close(goal, values) else "")


def variants_of(goal):
    """The variant of the row, and of what it is compared with where that is another one."""
    if goal["figure"] == "least_speedup":
        return f"`{goal['row'].split()[-1]}`"
    own, other = (list(dict.fromkeys(cell.split()[-1] for cell in goal[key].split(" + "))) if key in goal else [] for key in ("row", "over"))
    names = " + ".join(f"`{name}`" for name in own)
    return names if not other or other == own else f"{names} over {' + '.join(f'`{name}`' for name in other)}"


def what_of(goal):
    return FIGURES[goal["figure"]][0].format(than=goal.get("than", "-"))


def line(goal, values):
    sign, aim = ("at least", goal["least"]) if "least" in goal else ("at most", goal["most"])
    unit = f" {RATES[goal['figure']][0]}" if goal["figure"] in RATES else ""
    return [goal["problem"], variants_of(goal), what_of(goal), goal.get("known", "-"), f"{sign} {aim}{unit}",
            *(written(goal, values[name]) for name in MODES), verdict(goal, values)]


# ---- the misses -------------------------------------------------------------------------------------------------

def rows_meant(reports, goal, where):
    """The rows of a goal's "row"; none for a whole sweep."""
    return [] if goal["figure"] == "least_speedup" else [reports.cell(cell, where) for cell in goal["row"].split(" + ")]


def counted(reports, row):
    """What ncu counted of a row's longest pass; empty where it counted nothing."""
    found = [one for one in (reports.counters or {}).get("rows", []) if (one["key"], one["variant"]) == (row["key"], row["variant"])]
    if not found:
        return ""
    part = max(found[0]["passes"], key=lambda one: one["gpu_time_us"])
    dram = (part["dram_read_bytes"] + part["dram_write_bytes"]) / part["gpu_time_us"] / 1e6
    stall = part["top_stall"]
    return (f"ncu: tensor pipe {percent(part['tensor_pipe_ratio'])}, issue slots {percent(part['issue_ratio'])}, DRAM {significant(dram)} TB/s; "
            f"the most waits are `{stall['name']}`, {percent(stall['ratio'])}.")


def bound(row):
    """What attnbench says of a row's limit; empty where it says nothing."""
    said = row.get("bound_by")
    return f"attnbench: {said['text']}." if said else ""


def miss(reports, goals, rows):
    """goals: all of a problem that are missed for reasons of their own."""
    reasons = dict.fromkeys(goal["reason"] for goal in goals if "reason" in goal)
    parts = [*reasons, *(bound(row) for row in rows), *(counted(reports, row) for row in rows)]
    return f"- **{goals[0]['problem']}.** {' '.join(part for part in parts if part)}"


def is_power(goal, values, rows):
    """Is the goal missed in the steady mode only, at the power limit, and is no other reason given?"""
    return "reason" not in goal and modes_reached(goal, values) == ["burst"] and any(
        (row.get("bound_by") or {}).get("limit") == "power" for row in rows)


def miss_list(reports, missed, where):
    """missed: (goal, values) of a group. Goals of one problem share a line."""
    at_power, listed = [], {}
    for goal, values in missed:
        rows = rows_meant(reports, goal, where)
        if is_power(goal, values, rows):
            at_power.append(goal["problem"])
        else:
            listed.setdefault(goal["problem"], ([], rows))[0].append(goal)
    lines = [miss(reports, goals, rows) for goals, rows in listed.values()]
    if at_power:
        lines.append("- **Reached in a burst and missed steady, where the power limit holds the clock down:** "
                     f"{'; '.join(dict.fromkeys(at_power))}.")
    return "\n".join(lines)


def measured(reports, group, where):
    """(goal, {mode: figure or None}) of each goal."""
    return [(goal, {name: figure(reports, goal, mode, where) for name, mode in MODES.items()}) for goal in group["goals"]]


def group_blocks(reports, title, found, where):
    missed = [one for one in found if not is_reached(*one)]
    made = [f"## {title}", table(COLUMNS, [line(*one) for one in found], ["goal", "burst", "steady"])]
    return made + (["What limits the kernels that miss a goal:", miss_list(reports, missed, where)] if missed else [])


def summary(found):
    reached = sum(is_reached(*one) for one in found)
    burst = sum(not is_reached(*one) and modes_reached(*one) == ["burst"] for one in found)
    return (f"Of {len(found)} goals {reached} are reached in every mode that was measured, {burst} in a burst only, and "
            f"{len(found) - reached - burst} are missed.")


def blocks(reports, document, where):
    """The page's text under its title. `document`: goal_list.json."""
    groups = [(group["title"], measured(reports, group, where)) for group in document["groups"]]
    return [summary([one for _, found in groups for one in found]), *document["about"],
            *(block for title, found in groups for block in group_blocks(reports, title, found, where))]
