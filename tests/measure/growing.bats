# tags: asan
load ../helper

@test "every row with a hot time says what growing maxima cost, on the CPU as on a GPU" {
  must 0 attn --shape B=1,H=2,S=64,D=32 --shape B=1,H=1,S=32,D=16 --device cpu --variants cpu_flash --reference none --json "$TMP/r.json" \
    --csv "$TMP/r.csv"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(("data_dependence_ratio" in r) == (r["shape"]["D"] >= 24) for r in d["results"])'
  expect_json "$TMP/r.json" 'all(r.get("data_dependence_ratio", 1) > 0 for r in d["results"])'
  python - "$TMP/r.csv" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert {r["mode"] for r in rows if r["data_dependence_ratio"]} == {"hot"}, rows
assert list(rows[0])[-5] == "card"
PY
  attn --shape B=1,H=2,S=64,D=32 --device cpu --variants cpu_flash --quick --json "$TMP/r.json"
  expect_json "$TMP/r.json" '"data_dependence_ratio" not in d["results"][0]'
}

@test "launches of more than a millisecond meet changed inputs too" {
  must 0 attn --shape B=1,H=2,S=2048,D=64 --device cpu --variants cpu_flash --reference none --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["time"]["hot"]["median_us"] > 1000 and r["check"]["evidence"]["changed_us"] > 0
    for r in d["results"])'
}

@test "the table notes what growing maxima slow down by more than 3 %" {
  attn report results/h200/v3.journal --json "$TMP/all.json"
  python - "$TMP/all.json" "$TMP/r.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
for row in report["results"]:
    row.pop("data_dependence_ratio", None)
rows = [r for r in report["results"] if r["variant"] in ("wgmma", "wmma")]
for number, row in enumerate(rows):
    row["data_dependence_ratio"] = 1.02 if row["variant"] == "wmma" else 1.05 + 0.01 * number
report.pop("checksum", None)
json.dump(report, open(sys.argv[2], "w"))
PY
  COLUMNS=200 must 0 attn report "$TMP/r.json"
  [ "$(grep -c '^data: ' "$OUT")" = 1 ] || fail "not one note"
  grep -qE '^data: wgmma takes longer where the maximum .*: 3 rows by more than 3 %, the most 1\.[01][0-9]x at B8' "$OUT" || fail "$(grep '^data' "$OUT")"
}
