# tags: slow asan
# attnbench report --counters: what a profiler counted, in the rows of a saved report.
load ../helper

setup() {
  REPORT=$TMP/v3.json
  "$ATTNBENCH" report results/h200/v3.journal --json "$REPORT"
}

# counters FILE [PYTHON]: a counter file for every row of the report that is ok, as an ncu on that machine might have
# counted; PYTHON may change d, the document, or rows, its rows by (variant, key).
counters() {
  python - "$REPORT" "$1" "${2:-}" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
values = lambda r: {"gpu_time_us": r["time"]["cold"]["median_us"] / len(r["launches"]), "dram_read_bytes": r["bytes"],
                    "dram_write_bytes": 0, "l2_bytes": 2 * r["bytes"], "l2_hit_ratio": 0.5, "shared_wavefronts": 1000,
                    "shared_excess_wavefronts": 10, "global_sectors": 1000, "global_excess_sectors": 0, "local_bytes": 0}
d = {"schema": "attnbench.counters/1", "source": "ncu 2025.3.1", "cache": "cold", "launches": 1, "rows": [
    {"key": r["key"], "variant": r["variant"], "passes": [
        {"kernel": l["kernel"], "grid": l["grid"], "block": l["block"], **values(r)} for l in r["launches"]]}
    for r in report["results"] if r["status"] == "ok" and r["launches"]]}
rows = {(r["variant"], r["key"]): r for r in d["rows"]}
KEY = "B8.H16.Hkv16.Sq512.Skv512.D64.f16.full"
exec(sys.argv[3])
json.dump(d, open(sys.argv[2], "w"))
PY
}

with_counters() { attn report "$REPORT" --counters "$TMP/c.json" --json "$TMP/r.json" --csv "$TMP/r.csv"; }

@test "counters reach the rows of JSON and CSV, and nothing else changes but findings and bounds" {
  counters "$TMP/c.json"
  must 0 with_counters
  expect_valid results/report.schema.json "$TMP/r.json"
  python scripts/proof/validate_report.py "$TMP/r.json"
  python - "$REPORT" "$TMP/r.json" "$TMP/r.csv" <<'PY'
import csv, json, sys
old, new = (json.load(open(p)) for p in sys.argv[1:3])
counted = 0
for a, b in zip(old["results"], new["results"]):
    c = b.pop("counters", None)
    assert (c is not None) == (a["status"] == "ok" and bool(a["launches"])), a["variant"]
    if c:
        counted += 1
        assert c["source"] == "ncu 2025.3.1" and len(c["passes"]) == len(a["launches"])
        assert abs(c["gpu_time_us"] / a["time"]["cold"]["median_us"] - 1) < 1e-9
        assert c["dram_read_bytes"] == a["bytes"] * len(a["launches"])
    a.pop("findings"), b.pop("findings")
    a.pop("bound_by", None), b.pop("bound_by", None)
    # The kernels alone, where both the row's and the reference's were counted.
    assert "kernel_speedup_ratio" not in a and b.pop("kernel_speedup_ratio", 1.0) > 0
assert counted > 20 and old.pop("checksum") != new.pop("checksum") and old == new
rows = list(csv.DictReader(open(sys.argv[3], newline="")))
assert sum(r["counters_source"] != "" for r in rows) == 2 * counted
assert all(float(r["counters_l2_hit_ratio"]) == 0.5 for r in rows if r["counters_source"])
PY
}

@test "a report with counters, diagnosed again, is the same report" {
  counters "$TMP/c.json"
  with_counters
  must 0 attn diagnose "$TMP/r.json" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json" || fail "the report came back different"
}

@test "bank conflicts and scattered accesses are named on the rows that have them, and on no other" {
  counters "$TMP/c.json" '
rows["scalar", KEY]["passes"][0].update(shared_wavefronts=2e8, shared_excess_wavefronts=1e8)
rows["wmma", KEY]["passes"][0].update(global_sectors=4e7, global_excess_sectors=3e7)'
  must 0 with_counters
  expect_json "$TMP/r.json" 'sorted((r["variant"], f["id"]) for r in d["results"] for f in r["findings"]
    if f["id"] in ("bank_conflicts", "uncoalesced")) == [("scalar", "bank_conflicts"), ("wmma", "uncoalesced")]'
  expect_json "$TMP/r.json" 'all("measured by ncu 2025.3.1, cold" in f["measured"] for r in d["results"]
    for f in r["findings"] if f["id"] in ("bank_conflicts", "uncoalesced", "memory_bound"))'
}

@test "counters of another launch are refused, with both launches in the message" {
  counters "$TMP/c.json" 'rows["wmma", KEY]["passes"][0]["grid"] = [7, 7, 7]'
  must 7 with_counters
  expect_err 'has grid (7,7,7) and block (128,1,1), but the report'
  expect_err '(8,16,8)'
  expect_err_lines 1
  [ ! -e "$TMP/r.json" ] && [ ! -e "$TMP/r.csv" ] || fail "something was written"
}

@test "bad counter files are refused, each by what is wrong with it" {
  while IFS='|' read -r change text; do
    counters "$TMP/c.json" "$change"
    must 7 with_counters
    expect_err "$text"
    [ ! -e "$TMP/r.json" ] || fail "a report was written"
  done <<'TABLE'
d["schema"] = "attnbench.report/1"|is not a counter file
d["rows"].append(d["rows"][0])|appears twice
d["rows"][0]["variant"] = "nobody"|which the report does not have
d["rows"][0]["passes"] = []|has 0 passes, but
d["rows"][0]["passes"][0]["l2_hit_ratio"] = 83|divide a percentage by 100
d["rows"][0]["passes"][0]["sectors"] = 1|sectors
del d["cache"]|has no "cache"
TABLE
  echo '{"schema": "attnbench.counters/1"' >"$TMP/c.json"
  must 7 with_counters
  expect_refusal 7 "$TMP/none.json" -- report "$REPORT" --counters "$TMP/none.json"
}

@test "counters belong to one report; a journal does as well" {
  counters "$TMP/c.json"
  expect_refusal 2 '--counters: belongs to one report' -- report "$REPORT" "$REPORT" --counters "$TMP/c.json"
  with_counters
  must 0 attn report results/h200/v3.journal --counters "$TMP/c.json" --json "$TMP/j.json"
  cmp "$TMP/r.json" "$TMP/j.json" || fail "journal and report give different reports"
}
