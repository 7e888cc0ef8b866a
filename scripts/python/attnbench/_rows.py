"""What a run returns: rows as dictionaries, which a notebook shows as a table."""
import html

COLUMNS = ("case", "variant", "status", "hot_us", "cold_us", "steady_us", "tflop_per_s", "gb_per_s", "speedup", "reference", "max_abs_error", "reason")


def modes_of(value, key=None):
    """{mode: value} of an object of a report; None where there is none."""
    value = value or {}
    return {mode: (value.get(mode) or {}).get(key) if key else value.get(mode) for mode in ("hot", "cold", "steady")}


def row_of(result):
    """One row of a report (results/format.md), flat."""
    shape, speedup = result["shape"], result.get("speedup_vs") or {}
    check, launches = result.get("check") or {}, result.get("launches") or []
    us, rate, bandwidth = modes_of(result.get("time"), "median_us"), modes_of(result.get("tflop_per_s")), modes_of(result.get("gb_per_s"))
    ratio = modes_of(speedup, "ratio")
    # Like the program's table: rates are of the hot time where there is one.
    told = next((mode for mode in ("hot", "steady", "cold") if us[mode] is not None), "hot")
    row = {"case": result["key"], "variant": result["variant"], "status": result["status"], "reason": result.get("reason")}
    row.update({"%s_us" % mode: us[mode] for mode in us})
    row.update(tflop_per_s=rate[told], gb_per_s=bandwidth[told], speedup=ratio[told], reference=speedup.get("reference"),
               max_abs_error=check.get("max_abs_error"), kernels=len(launches), grid=launches[0].get("grid") if launches else None,
               uncaptured=result.get("uncaptured"), left=result.get("left"))
    row.update(shape)
    return row


def cell(value):
    if value is None:
        return "-"
    return "%.4g" % value if isinstance(value, float) else str(value)


def table_html(rows, columns):
    shown = [c for c in columns if any(row.get(c) is not None for row in rows)]
    head = "".join("<th>%s</th>" % html.escape(c) for c in shown)
    body = "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % html.escape(cell(row.get(c))) for c in shown) for row in rows)
    return "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>" % (head, body)


class Rows(list):
    """A dictionary for each case and variant. `report` is the whole report, `text` the program's table, `code` its exit code."""

    def __init__(self, report, text, code, functions=()):
        super().__init__(row_of(result) for result in report["results"])
        self.report, self.text, self.code, self.functions = report, text, code, functions

    @property
    def ok(self):
        """Is every result right, and has every row of a function one? Variants may be skipped, or planned for a GPU that is not here."""
        counted = [row["status"] for row in self if row["status"] not in ("skipped", "planned") or row["variant"] in self.functions]
        return bool(counted) and all(status == "ok" for status in counted)

    def frame(self):
        """The rows as a pandas.DataFrame."""
        import pandas
        return pandas.DataFrame(list(self))

    def __str__(self):
        return self.text

    def _repr_html_(self):
        return table_html(self, COLUMNS)


class Verdict(dict):
    """The comparison as `attnbench ab` writes it (results/format.md). `code` is its exit code, `text` what it prints."""

    def __init__(self, comparison, text, code):
        super().__init__(comparison)
        self.text, self.code = text, code

    @property
    def passed(self):
        """Is the new function right and not slower?"""
        return self.code == 0

    def __str__(self):
        return self.text

    def _repr_html_(self):
        return "<pre>%s</pre>" % html.escape(self.text)
