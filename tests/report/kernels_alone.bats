load ../helper

# A report of the three cases of v3 in which the first row of cluster_split has a ratio of kernels alone.
setup() {
  must 0 attn report results/h200/v3.journal --json "$TMP/all.json"
  python - "$TMP/all.json" "$TMP/r.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
for other in report["results"]:
    hot = (other["speedup_vs"] or {}).get("hot") or {}
    for key in "kernels_alone", "reference_memset_us":
        hot.pop(key, None)
row = next(r for r in report["results"] if r["variant"] == "cluster_split")
# 2.5 us of 6.5625 are memsets, and 2.5 us the row's.
hot, ratio = row["time"]["hot"], row["speedup_vs"]["hot"]
factor = 2.5 / hot["median_us"]
hot.update({key: us * factor for key, us in hot.items() if key.endswith("_us")})
hot["median_us"] = 2.5
ratio.update(ratio=2.625, ci95_low=2.625, ci95_high=2.625, drift_ratio=0, reference_memset_us=2.5, kernels_alone=1.625)
report.pop("checksum", None)
json.dump(report, open(sys.argv[2], "w"))
PY
}

@test "the ratio of kernels alone stands beside the hot one, and the memset's time below the table" {
  COLUMNS=200 must 0 attn report "$TMP/r.json"
  grep -E ' cluster_split .* 1\.6[23]( |$)' "$OUT" || fail "no ratio of kernels alone in the table"
  expect_out 'kernel = vs ref, hot, with the memset nodes subtracted: 2.50 to 2.50 us in one of cudnn'
  COLUMNS=200 attn report results/h200/wgmma_ladder.journal
  refute_out 'kernel = '
}

@test "Markdown, HTML, CSV and JSON have it too, and only where there is one" {
  must 0 attn report "$TMP/r.json" --markdown "$TMP/r.md" --html "$TMP/r.html" --csv "$TMP/r.csv" --json "$TMP/again.json"
  grep -q '| kernels alone |' "$TMP/r.md" || fail "Markdown has no column"
  grep -q 'vs ref <small>kernel</small>' "$TMP/r.html" || fail "HTML has no column"
  expect_json "$TMP/again.json" '[r["speedup_vs"]["hot"]["kernels_alone"] for r in d["results"]
    if r["speedup_vs"] and r["speedup_vs"]["hot"] and "kernels_alone" in r["speedup_vs"]["hot"]] == [1.625]'
  expect_valid results/report.schema.json "$TMP/again.json"
  python - "$TMP/r.csv" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert [r["speedup_vs_kernels_alone"] for r in rows if r["speedup_vs_kernels_alone"]] == ["1.625"]
assert list(rows[0])[-5:] == ["card", "commit", "date", "driver", "version"]
PY
  attn report results/h200/wgmma_ladder.journal --markdown "$TMP/plain.md"
  ! grep -q 'kernels alone' "$TMP/plain.md" || fail "Markdown has a column that is empty"
}

@test "which of its plans a library took stands in the launch, and the text counts the cases" {
  python - "$TMP/r.json" "$TMP/plans.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
for number, row in enumerate(r for r in report["results"] if r["variant"] == "cudnn"):
    row["launches"][0].update({"choice": 1 + number % 2, "choices": 4 + number})
json.dump(report, open(sys.argv[2], "w"))
PY
  COLUMNS=200 must 0 attn report "$TMP/plans.json" --json "$TMP/again.json"
  expect_valid results/report.schema.json "$TMP/again.json"
  expect_json "$TMP/again.json" '[(l["choice"], l["choices"]) for r in d["results"] for l in r["launches"] if "choice" in l]
    == [(1, 4), (2, 5), (1, 6)]'
  COLUMNS=200 attn report "$TMP/plans.json"
  expect_out 'plans = cudnn timed the plans that its library offers, up to 6 for a case, and took the fastest: another one than the first in 1 of 3 cases'
}
