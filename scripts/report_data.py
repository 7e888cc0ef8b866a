"""What the results page reads: committed reports by sweep, their rows by (case, variant), and how numbers and tables are
written, there and by the scripts that make tables.

A library of update_results.py and its parts, and of profiler.py. Python's standard library only.
"""
import json
import re

TORCH = "torch_"
REFERENCE = "cudnn"


class Reports:
    """The reports of one GPU: attnbench's by sweep, PyTorch's by sweep, tables made by other scripts, the timer's self-test."""

    def __init__(self, sweeps, torch=None, tables=None, selftest=None):
        self.sweeps, self.torch, self.tables, self.selftest = sweeps, torch or {}, tables or {}, selftest

    def rows(self, sweep):
        return self.sweeps[sweep]["results"] if sweep in self.sweeps else []

    def row(self, sweep, key, variant):
        """The timed row, or None."""
        for row in self.rows(sweep):
            if row["key"] == key and row["variant"] == variant and row["time"]:
                return row
        return None

    def find(self, sweeps, key, variants):
        """(sweep, row) of the first of these sweeps that timed one of these names for a variant; (None, None)."""
        for sweep in sweeps:
            for variant in variants:
                row = self.row(sweep, key, variant)
                if row:
                    return sweep, row
        return None, None

    def cases(self, sweep):
        """{key: {variant: row}}, in the report's order."""
        cases = {}
        for row in self.rows(sweep):
            cases.setdefault(row["key"], {})[row["variant"]] = row
        return cases

    def torch_rows(self, sweep, key):
        """PyTorch's timed rows of a case by backend."""
        rows = self.torch[sweep]["results"] if sweep in self.torch else []
        return {row["variant"].removeprefix(TORCH): row for row in rows if row["key"] == key and row["time"]}

    def torch_best(self, sweep, key):
        """(backend, row) with the smallest hot median, or None."""
        rows = self.torch_rows(sweep, key)
        return min(rows.items(), key=lambda item: hot_us(item[1])) if rows else None

    @property
    def device(self):
        return next(iter(self.sweeps.values()))["device"]


def torch_versions(report):
    """What sdpa_baseline.py says of its libraries: {"torch": "2.11.0", "CUDA": "13.0", "cuDNN": "9.19.0"}."""
    said = report["run"]["command"].partition(" # ")[2]
    versions = dict(part.split(" ", 1) for part in said.split(", ") if " " in part)
    number = versions.get("cuDNN", "")
    if number.isdigit():
        versions["cuDNN"] = f"{int(number) // 10000}.{int(number) // 100 % 100}.{int(number) % 100}"
    return versions


# ---- one row ----------------------------------------------------------------------------------------------------

def hot_us(row):
    return row["time"]["hot"]["median_us"]


def tflops(row, mode="hot"):
    return row["tflop_per_s"][mode]


def speedup(row, mode="hot"):
    """The reference's time over the row's, timed in turns, or None."""
    against = (row["speedup_vs"] or {}).get(mode)
    return against["ratio"] if against else None


def finding_ids(row):
    return [finding["id"] for finding in row["findings"]]


def limit(row):
    """The worst finding; without any, the roof that the row is held against."""
    named = [i for i in finding_ids(row) if i != "scales_with_bh"]
    if named:
        return f"`{named[0]}`"
    roof = row["roof"]["hot"]
    return f"{roof['name']} roof" if roof and not is_vendors(row) else "-"


def is_vendors(row):
    """A library's kernel: attnbench did not plan it."""
    return not row["plan"] or not row["plan"]["tile_q"]


# ---- how numbers and names are written --------------------------------------------------------------------------

def microseconds(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def significant(value, digits=3):
    """Without exponents: 0.0123, 1.23, 12.3, 1234."""
    if value == 0:
        return "0"
    magnitude = len(f"{abs(value):.0f}") if abs(value) >= 1 else -len(re.match(r"0\.(0*)", f"{abs(value):.12f}")[1])
    return f"{value:.{max(digits - magnitude, 0)}f}"


def ratio(value):
    """A quotient of two times: 0.0012x, 0.91x, 1.53x, 37.3x."""
    return f"{significant(value, 2)}x" if value < 0.095 else f"{value:.2f}x" if value < 10 else f"{value:.1f}x"


def percent(value):
    """Of a share: 0.28 %, 12.9 %."""
    return f"{100 * value:.2f} %" if value < 0.0095 else f"{100 * value:.1f} %"


def roof_share(row):
    roof = row["roof"]["hot"] if row["roof"] else None
    return f"{percent(roof['ratio'])} {roof['name'].partition('_')[0]}" if roof else "-"


def case_label(shape):
    heads = f"{shape['Hq']}" if shape["Hq"] == shape["Hkv"] else f"{shape['Hq']}/{shape['Hkv']}"
    length = f"{shape['Sq']}" if shape["Sq"] == shape["Skv"] else f"{shape['Sq']}x{shape['Skv']}"
    return f"{shape['B']},{heads},{length},{shape['D']} {shape['dtype']} {mask_of(shape)}"


def mask_of(shape):
    return "causal" if shape["causal"] else "full"


def shape_of_key(key):
    """B1.H8.Hkv8.Sq512.Skv512.D64.f16.full as a shape."""
    match = re.fullmatch(r"B(\d+)\.H(\d+)\.Hkv(\d+)\.Sq(\d+)\.Skv(\d+)\.D(\d+)\.(\w+)\.(full|causal)", key)
    if not match:
        raise ValueError(f"{key} is not a case key such as B1.H8.Hkv8.Sq512.Skv512.D64.f16.full")
    sizes = dict(zip(("B", "Hq", "Hkv", "Sq", "Skv", "D"), map(int, match.groups()[:6])))
    return {**sizes, "dtype": match[7], "causal": match[8] == "causal"}


def table(columns, rows, right=None):
    """Markdown; `right` names the columns that are aligned right (default: all but the first)."""
    right = columns[1:] if right is None else right
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join("--:" if c in right else "---" for c in columns) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


# ---- tables of other scripts: attnbench.table/1 -----------------------------------------------------------------

def table_cell(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return significant(value, 4)
    return str(value).replace("|", "\\|").replace("\n", " ")


def check_table(part, where):
    if not isinstance(part.get("columns"), list):
        raise ValueError(f'{where}: has "rows" without "columns"')
    columns = [c if isinstance(c, str) else c["name"] for c in part["columns"]]
    for i, row in enumerate(part["rows"]):
        if len(row) != len(columns):
            raise ValueError(f"{where}: row {i} has {len(row)} cells for {len(columns)} columns; give one each")
    return columns


def is_number(value):
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def table_part(part, where):
    """One table with its notes, as Markdown."""
    blocks = []
    if "rows" in part:
        columns = check_table(part, where)
        given = {c["name"]: c.get("align") for c in part["columns"] if not isinstance(c, str)}
        numbers = [all(is_number(row[i]) for row in part["rows"]) for i in range(len(columns))]
        right = [c for c, plain in zip(columns, numbers) if given.get(c, "right" if plain else "left") == "right"]
        blocks.append(table(columns, [[table_cell(cell) for cell in row] for row in part["rows"]], right))
    if part.get("notes"):
        blocks.append("\n".join(f"- {note}" for note in part["notes"]))
    return blocks


def table_blocks(data, where):
    """The blocks under the title of an attnbench.table/1 document."""
    if not isinstance(data, dict) or data.get("schema") != "attnbench.table/1" or "title" not in data:
        raise ValueError(f'{where}: not a table; it needs "schema": "attnbench.table/1" and "title"')
    blocks = [data["about"]] if data.get("about") else []
    blocks += table_part(data, where)
    for part in data.get("tables", []):
        blocks += ([f"**{part['title']}**"] if part.get("title") else []) + table_part(part, where)
    return blocks


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
