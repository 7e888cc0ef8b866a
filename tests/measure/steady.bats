# tags: slow asan
load ../helper

@test "--modes steady times launches until they settle, in every format, and its ratio is of long turns" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_ref,cpu_flash --reference cpu_ref --modes hot,steady \
    --filter causal=true --samples --json "$TMP/r.json" --csv "$TMP/r.csv" --html "$TMP/r.html" --journal "$TMP/r.journal"
  expect_valid results/report.schema.json "$TMP/r.json"
  python scripts/proof/validate_report.py "$TMP/r.json"
  expect_out_matches 'hot +steady +rate'
  expect_out 'steady = launches back to back'
  expect_json "$TMP/r.json" 'all(r["time"]["steady"]["n"] == len(r["time"]["steady"]["samples_us"]) >= 5
    and r["time"]["cold"] is None and "energy_pj_per_flop" not in r
    and abs(r["tflop_per_s"]["steady"] * r["time"]["steady"]["median_us"] * 1e6 / r["flops"] - 1) < 1e-9
    for r in d["results"])'
  expect_json "$TMP/r.json" 'all(r["speedup_vs"]["steady"]["rounds"] == 6 for r in d["results"] if r["variant"] == "cpu_flash")'
  grep -q '>steady' "$TMP/r.html" || fail "the page has no steady times"
  python - "$TMP/r.csv" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
steady = [row for row in rows if row["mode"] == "steady"]
assert len(steady) == len(rows) / 3 and all(float(row["time_median_us"]) > 0 for row in steady), rows
PY
  attn report "$TMP/r.journal" --json "$TMP/again.json" --csv "$TMP/again.csv"
  cmp "$TMP/r.json" "$TMP/again.json"
  cmp "$TMP/r.csv" "$TMP/again.csv"
}

@test "what was not asked for a steady time has no word of it" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash --filter causal=true --quick --json "$TMP/r.json" --csv "$TMP/r.csv"
  refute_out steady
  ! grep -q steady "$TMP/r.json" "$TMP/r.csv" || fail "a report has steady times"
}

@test "steady times are compared where they are asked for" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash --filter causal=true --modes steady --rounds 5 \
    --reference none --journal "$TMP/a.journal"
  attn compare "$TMP/a.journal" "$TMP/a.journal" --modes steady --noise warn --json "$TMP/c.json" # a busy machine may be too noisy
  expect_status 0
  expect_json "$TMP/c.json" '{row["mode"] for row in d["rows"]} == {"steady"} and d["settings"]["modes"]["steady"]'
  expect_refusal 2 'write one or more of hot, cold and steady' -- --sweep tests/data/sweeps/tiny.json --modes burst
}
