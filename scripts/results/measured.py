"""The committed measurements of one GPU, by sweep and by (case, variant)."""
from lib.program import INPUT, Failure
from lib.reports import hot_us, is_vendors, speedup

TORCH = "torch_"
PICKER = "auto"  # runs another variant's kernels


class Reports:
    """The reports of one GPU: attnbench's by sweep, PyTorch's by sweep, tables made by other scripts, the timer's self-test, and
    PyTorch's of checks on hard inputs, and ncu's counters of rows of `goals`."""

    def __init__(self, sweeps, torch=None, tables=None, selftest=None, checked=None, counters=None):
        self.sweeps, self.torch, self.tables, self.selftest, self.checked = sweeps, torch or {}, tables or {}, selftest, checked
        self.counters = counters

    def rows(self, sweep):
        return self.sweeps[sweep]["results"] if sweep in self.sweeps else []

    def row(self, sweep, key, variant):
        """The timed row, or None."""
        for row in self.rows(sweep):
            if row["key"] == key and row["variant"] == variant and row["time"]:
                return row
        return None

    def cell(self, text, where):
        """The timed row of "SWEEP KEY VARIANT", as pages that are written by hand name it."""
        words = text.split()
        row = self.row(*words) if len(words) == 3 else None
        if row is None:
            raise Failure(INPUT, f'{where}: no report has times of "{text}"; write "sweep case variant" of a measured row')
        if row["status"] != "ok":
            raise Failure(INPUT, f'{where}: "{text}" is {row["status"]}; name a row that is ok')
        return row

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
    """What a report says of PyTorch: of before 0.3 behind the command, else in the names of launches: {"torch": "2.11.0", "CUDA": "13.0", "cuDNN": "9.19.0"}."""
    said = report["run"]["command"].partition(" # ")[2] or ", ".join(
        {launch["name"].replace("PyTorch", "torch") for row in report.get("results", []) for launch in row["launches"] or []})
    versions = dict(part.split(" ", 1) for part in said.split(", ") if " " in part)
    number = versions.get("cuDNN", "")
    if number.isdigit():
        versions["cuDNN"] = f"{int(number) // 10000}.{int(number) // 100 % 100}.{int(number) % 100}"
    return versions


def own_best(rows):
    """(variant, row) of the fastest measured row that is not a vendor's, or None: by the ratio to the reference in turns where all have
    one, as attnbench's own table decides, else by hot medians."""
    timed = [(name, row) for name, row in rows.items() if row["time"] and not is_vendors(row) and name != PICKER]
    if timed and all(speedup(row) for _, row in timed):
        return max(timed, key=lambda item: speedup(item[1]))
    return min(timed, key=lambda item: hot_us(item[1])) if timed else None
