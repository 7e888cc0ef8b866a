"""The pictures of the results page, from committed reports: results/<gpu>/plots/*.svg.

What is drawn is gathered first, without matplotlib, and its hash is written into the SVG; so whether a picture belongs
to the reports beside it can be told without drawing it. Drawing needs matplotlib (python3-matplotlib); the same version
of it writes the same bytes.
"""
import hashlib
import io
import json
import math
import pathlib

from lib.reports import REFERENCE, hot_us, is_vendors, parts_of_key, tflops

INK, FAINT = "#222222", "#bbbbbb"
# One colour and marker per variant, in every picture. Colours are Paul Tol's "muted" and "bright", told apart with
# any colour vision; the marker tells the few pairs that come near each other in grey.
STYLE = {
    "serial": ("#882255", "X"), "scalar": ("#CC6677", "s"), "scalar_quad": ("#EE6622", "o"), "one_query": ("#999933", "P"),
    "wmma_qk": ("#AA4499", "v"), "wmma": ("#33AADD", "^"), "cp_async": ("#44AA99", "<"), "mma_swizzle": ("#0044AA", "D"),
    "split_kv": ("#117733", ">"), "split_kv_atomic": ("#CC9900", "h"), "d_split": ("#332288", "*"), "cudnn": ("#000000", "o"),
    "wgmma": ("#CC3311", "d"), "cluster_split": ("#0099BB", "H"), "decode": ("#66AA00", "8"), "auto": ("#555555", "s"),
}
OTHER = ("#777777", ".")
LABEL_GAP = 0.062  # of an axis' height, between two labels at line ends
HASH = "drawn from sha256:"


# ---- what is drawn ----------------------------------------------------------------------------------------------

def base_name(variant):
    return variant.partition(":")[0]


def dtype_of(reports, sweep):
    """A sweep's first type: a line over S is of one."""
    rows = reports.rows(sweep)
    return rows[0]["shape"]["dtype"] if rows else "f16"


def lengths(reports, sweep, value):
    """One panel per (D, mask): lines of a value over S, as many KV heads as query heads. None when no panel has a line."""
    panels, dtype = {}, dtype_of(reports, sweep)
    for row in reports.rows(sweep):
        s, (_, traits) = row["shape"], parts_of_key(row["key"])
        traits = [trait for trait in traits if trait != s["dtype"]]
        if row["time"] and s["Sq"] == s["Skv"] and s["D"] >= 64 and s["dtype"] == dtype and s["Hq"] == s["Hkv"]:
            lines = panels.setdefault(f"D = {s['D']}, {' '.join(traits)}", {})
            lines.setdefault(row["variant"], []).append([s["Sq"], value(row)])
    panels = {title: {v: sorted(points) for v, points in lines.items()} for title, lines in panels.items()}
    return panels if any(len(p) > 1 for lines in panels.values() for p in lines.values()) else None


def growth(reports, sweeps):
    """{variant: {sweep: [[B*H, measured us, us expected by waves]]}} of the sweeps that grow B*H."""
    variants = {}
    for sweep in sweeps:
        for row in reports.rows(sweep):
            scaling = row["scaling"]
            if not row["time"] or not scaling or row.get("picked"):  # what auto picked has a line of its own
                continue
            first = reports.row(sweep, scaling["baseline_key"], row["variant"])
            expected = hot_us(first) * scaling["wave_ratio"] if first and scaling["wave_ratio"] and not is_vendors(row) else None
            point = [row["shape"]["B"] * row["shape"]["Hq"], hot_us(row), expected]
            variants.setdefault(row["variant"], {}).setdefault(sweep, []).append(point)
    return {v: {sweep: sorted(p, key=lambda point: point[:2]) for sweep, p in of.items()} for v, of in variants.items()} or None


def roofs(device):
    """Name and height of each horizontal roof (TFLOP/s), and the slope of DRAM (TB/s), at the highest clock."""
    scale = device["sms"] * device["sm_clock_max_mhz"] * 1e6 * 1e-12
    return {"flat": {"tensor": device["tensor_flop_per_clk_sm"] * scale, "fp32": device["fp32_flop_per_clk_sm"] * scale},
            "dram_tb_per_s": device["dram_gb_per_s"] / 1e3}


def intensity(reports, sweeps):
    """{variant: [[FLOP/byte, TFLOP/s cold]]}, one point per case."""
    points, seen = {}, set()
    for sweep in sweeps:
        for row in reports.rows(sweep):
            if row["time"] and ":" not in row["variant"] and (row["key"], row["variant"]) not in seen:
                seen.add((row["key"], row["variant"]))
                points.setdefault(row["variant"], []).append([row["flop_per_byte"], tflops(row, "cold")])
    return {v: sorted(p) for v, p in points.items()}


def origin(reports, sweeps, types=None):
    """What a picture says of where it comes from once it has left its page: GPU, types, sweeps, days."""
    there = [sweep for sweep in sweeps if sweep in reports.sweeps]
    days = sorted({reports.sweeps[sweep]["run"]["started_utc"][:10] for sweep in there})
    types = types or dict.fromkeys(row["shape"]["dtype"] for sweep in there for row in reports.rows(sweep) if row["time"])
    return "; ".join([reports.device["name"], *(", ".join(words) for words in (types, there, days))])


def plots(reports):
    """[{name, title, caption, kind, origin, data}] of every picture that these reports can give."""
    found = []

    def add(name, title, caption, kind, data, sweeps, types=None):
        if data:
            found.append({"name": name, "title": title, "caption": caption, "kind": kind, "origin": origin(reports, sweeps, types),
                          "data": data})

    for sweep in ("prefill", "n6"):
        dtype = dtype_of(reports, sweep)
        about = reports.sweeps[sweep]["sweep"]["about"] if sweep in reports.sweeps else ""
        add(f"latency_{sweep}", f"Latency over S, {sweep}", f"Latency over S, hot: `{sweep}`, {dtype} without grouped heads. {about}.",
            "latency", lengths(reports, sweep, hot_us), (sweep,), (dtype,))
        add(f"rate_{sweep}", f"TFLOP/s over S, {sweep}", f"TFLOP/s over S, hot: `{sweep}`, {dtype} without grouped heads.", "rate",
            lengths(reports, sweep, tflops), (sweep,), (dtype,))
    add("scaling", "Time over B*H",
        "Time over B*H, hot, a panel per variant. Dashed: what the waves of the grid (and loops over B*H inside a block) say, from the "
        "first point on; cuDNN's grid is not known before it runs, so it has no such line.", "scaling",
        growth(reports, ("v3", "batch")), ("v3", "batch"))
    drawn = ("v3", "mission", "large_d", "prefill")
    points = intensity(reports, drawn)
    add("roofline", "Roofline",
        "Roofline, cold (after an L2 flush): FLOP per byte of the problem (Q, K, V read and O written once) against TFLOP/s, "
        "one point per case, with the named roofs at the highest SM clock.", "roofline",
        {"points": points, **roofs(reports.device)} if points else None, drawn)
    return found


def digest(plot):
    """Of everything that decides the picture: its data and this file."""
    source = pathlib.Path(__file__).read_bytes()
    drawn = json.dumps({k: plot[k] for k in ("name", "title", "kind", "origin", "data")}, sort_keys=True).encode()
    return HASH + hashlib.sha256(source + b"\0" + drawn).hexdigest()


def is_current(plot, svg):
    """Whether an SVG's text is the picture of this plot."""
    return digest(plot) in svg


# ---- drawing ----------------------------------------------------------------------------------------------------

def style_of(variant):
    return STYLE.get(base_name(variant), OTHER)


def pyplot():
    """Raises ImportError without matplotlib."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "svg.hashsalt": "attnbench", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 10,
        "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.6,
        "axes.axisbelow": True, "figure.facecolor": "white", "axes.facecolor": "white", "legend.frameon": False})
    import matplotlib.pyplot
    return matplotlib.pyplot


def plain(value, _=None):
    """1, 2, 0.5, 1000: an axis number without exponents."""
    return f"{value:g}" if value < 1e5 else f"{value:.0f}"


def number_axis(axis, ticks=None, subs=(1.0,)):
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_formatter(NullFormatter())
    if ticks:
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=30))


def spread(positions, gap, low=0.0, high=1.0):
    """Label heights near the wanted ones, in their order, at least `gap` apart and within the axis where they fit."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    placed = []
    for i in order:
        placed.append(max(positions[i], placed[-1] + gap if placed else low))
    over = placed[-1] - high
    if over > 0:
        placed[-1] -= over
        for i in range(len(placed) - 2, -1, -1):
            placed[i] = min(placed[i], placed[i + 1] - gap)
    return dict(zip(order, placed))


def end_labels(axes, lines):
    """Names at the right end of each line, moved apart, with a leader where they had to move."""
    ends = [points[-1] for points in lines.values()]
    heights = [axes.transAxes.inverted().transform(axes.transData.transform(end))[1] for end in ends]
    for i, height in spread(heights, LABEL_GAP).items():
        variant = list(lines)[i]
        axes.annotate(variant, xy=ends[i], xycoords="data", xytext=(1.045, height), textcoords="axes fraction", va="center", ha="left",
                      fontsize=8, color=style_of(variant)[0], annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": style_of(variant)[0], "lw": 0.5, "shrinkA": 1, "shrinkB": 3})


def draw_lines(axes, lines):
    for variant, points in lines.items():
        color, marker = style_of(variant)
        axes.plot(*zip(*points), color=color, marker=marker, markersize=4.5, linewidth=2 if base_name(variant) == REFERENCE else 1.3,
                  zorder=4 if base_name(variant) == REFERENCE else 3)


def span(panels):
    """Largest over smallest value of all lines."""
    values = [y for lines in panels.values() for points in lines.values() for _, y in points]
    return max(values) / min(values)


def draw_lengths(plot, y_label, is_rate=False):
    """Panels of lines over S, sharing both axes. Rates are compared by their heights, so their axis starts at 0."""
    panels, plt = plot["data"], pyplot()
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    height = 4.6 if len(panels) == 1 else 3.1 * rows
    figure, grid = plt.subplots(rows, columns, figsize=(4.7 * columns + (2.0 if columns == 1 else 0), height), sharex=True, sharey=True,
                                squeeze=False, gridspec_kw={"wspace": 0.42, "hspace": 0.3})
    ticks = sorted({s for lines in panels.values() for points in lines.values() for s, _ in points})
    ticks = [s for s in ticks if not any(0 < s - other < 0.1 * s for other in ticks)]
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    for axes, (title, lines) in zip(grid.flat, panels.items()):
        axes.set_xscale("log", base=2)
        if not is_rate:
            axes.set_yscale("log")
        draw_lines(axes, lines)
        axes.set_title(title, loc="left")
        number_axis(axes.xaxis, ticks)
        if not is_rate:
            number_axis(axes.yaxis, subs=range(1, 9) if span(panels) < 8 else (1.0, 2.0, 5.0))
        axes.xaxis.set_tick_params(labelbottom=True)
    if is_rate:  # the panels share the axis
        grid[0, 0].set_ylim(bottom=0)
    figure.canvas.draw()  # the labels need the final limits
    for axes, lines in zip(grid.flat, panels.values()):
        end_labels(axes, lines)
    for axes in grid[-1]:
        axes.set_xlabel("S, tokens")
    for axes in grid[:, 0]:
        axes.set_ylabel(y_label)
    return figure


def draw_growth(axes, variant, sweeps):
    color, marker = style_of(variant)
    for fill, points in zip((color, "white"), sweeps.values()):
        axes.plot([p[0] for p in points], [p[1] for p in points], color=color, marker=marker, markersize=4.5, linewidth=1.3,
                  markerfacecolor=fill, zorder=3)
        waves = [(p[0], p[2]) for p in points if p[2] is not None]
        if waves:
            axes.plot(*zip(*waves), color=INK, linestyle=(0, (3, 2)), linewidth=0.9, zorder=2)
    axes.set_title(variant, loc="left")


def draw_scaling(plot):
    from matplotlib.lines import Line2D
    plt, variants = pyplot(), plot["data"]
    columns = 4
    rows = -(-len(variants) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(10.5, 2.15 * rows + 0.9), sharex=True, sharey=True, squeeze=False,
                                gridspec_kw={"hspace": 0.34, "wspace": 0.08})
    ticks = sorted({p[0] for of in variants.values() for points in of.values() for p in points})
    for axes in grid.flat[len(variants):]:
        axes.set_visible(False)
    for axes, (variant, sweeps) in zip(grid.flat, variants.items()):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        draw_growth(axes, variant, sweeps)
        number_axis(axes.xaxis, ticks)
        number_axis(axes.yaxis)
    for i, axes in enumerate(grid.flat[:len(variants)]):
        axes.xaxis.set_tick_params(labelbottom=i + columns >= len(variants))
        axes.set_xlabel("B*H" if i + columns >= len(variants) else "")
    for axes in grid[:, 0]:
        axes.set_ylabel("hot, us")
    sweeps = list(dict.fromkeys(s for of in variants.values() for s in of))
    handles = [Line2D([], [], color=INK, marker="o", markersize=4.5, markerfacecolor=fill, label=f"measured, {sweep}")
               for fill, sweep in zip((INK, "white"), sweeps)]
    handles.append(Line2D([], [], color=INK, linestyle=(0, (3, 2)), linewidth=0.9, label="expected from waves"))
    figure.legend(handles=handles, loc="upper left", ncol=len(handles), bbox_to_anchor=(0.11, 0.99))
    return figure


def draw_roofs(axes, data, low, high):
    """DRAM's slope up to the highest roof, each roof from where it meets the slope; names where no point can be."""
    slope, top = data["dram_tb_per_s"], max(data["flat"].values())
    axes.plot([low, top / slope], [low * slope, top], color=INK, linewidth=1.2)
    (x0, y0), (x1, y1) = axes.transData.transform([(low, low * slope), (2 * low, 2 * low * slope)])
    axes.annotate(f"DRAM {slope:.1f} TB/s", (low * 1.3, low * 1.3 * slope), xytext=(-3, 4), textcoords="offset points", fontsize=8,
                  rotation=math.degrees(math.atan2(y1 - y0, x1 - x0)), rotation_mode="anchor")
    for name, height in data["flat"].items():
        axes.plot([height / slope, high], [height, height], color=INK, linewidth=1.2)
        axes.annotate(f"{name} {height:.0f} TFLOP/s", (height / slope, height), xytext=(6, 3 if height == top else -11),
                      textcoords="offset points", fontsize=8)


def draw_roofline(plot):
    plt, data = pyplot(), plot["data"]
    figure, axes = plt.subplots(figsize=(9.2, 5.6))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    every = [point for points in data["points"].values() for point in points]
    low, high = min(p[0] for p in every) / 1.5, max(p[0] for p in every) * 1.6
    for variant, points in data["points"].items():
        color, marker = style_of(variant)
        axes.scatter(*zip(*points), s=24, color=color, marker=marker, label=variant, linewidths=0, alpha=0.9, zorder=3)
    axes.set_xlim(low, high)
    axes.set_ylim(min(p[1] for p in every) / 1.6, max(data["flat"].values()) * 2)
    number_axis(axes.xaxis, [2**e for e in range(16) if low <= 2**e <= high])
    number_axis(axes.yaxis)
    draw_roofs(axes, data, low, high)
    axes.set_xlabel("FLOP per byte")
    axes.set_ylabel("cold, TFLOP/s")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, handletextpad=0.3)
    return figure


DRAW = {"latency": lambda plot: draw_lengths(plot, "hot, us"), "rate": lambda plot: draw_lengths(plot, "hot, TFLOP/s", True),
        "scaling": draw_scaling, "roofline": draw_roofline}


def draw(plot):
    """The picture's bytes. Raises ImportError without matplotlib."""
    plt = pyplot()
    figure = DRAW[plot["kind"]](plot)
    box = figure.get_tightbbox(figure.canvas.get_renderer())  # of everything drawn so far, in inches
    figure.text(box.x0 / figure.get_figwidth(), (box.y0 - 0.1) / figure.get_figheight(), plot["origin"], fontsize=8, color="#666666",
                va="top")
    out = io.BytesIO()
    about = {"Date": None, "Creator": "attnbench", "Title": plot["title"], "Description": digest(plot)}
    figure.savefig(out, format="svg", bbox_inches="tight", pad_inches=0.12, dpi=110, metadata=about)
    plt.close(figure)
    return out.getvalue()
