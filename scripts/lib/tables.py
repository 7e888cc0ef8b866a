"""How numbers, names and tables are written in Markdown, and tables as data (schema attnbench.table/1), which
measuring scripts write and the results pages show."""
import re

from .program import INPUT, Failure

# ---- numbers ----------------------------------------------------------------------------------------------------

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
        raise Failure(INPUT, f'{where}: has "rows" without "columns"')
    columns = [c if isinstance(c, str) else c["name"] for c in part["columns"]]
    for i, row in enumerate(part["rows"]):
        if len(row) != len(columns):
            raise Failure(INPUT, f"{where}: row {i} has {len(row)} cells for {len(columns)} columns; give one each")
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
        raise Failure(INPUT, f'{where}: not a table; it needs "schema": "attnbench.table/1" and "title"')
    blocks = [data["about"]] if data.get("about") else []
    blocks += table_part(data, where)
    for part in data.get("tables", []):
        blocks += ([f"**{part['title']}**"] if part.get("title") else []) + table_part(part, where)
    return blocks


def section(document):
    """A document of tables as a section of a page."""
    return "\n\n".join([f"## {document['title']}", *table_blocks(document, document["title"])]) + "\n"
