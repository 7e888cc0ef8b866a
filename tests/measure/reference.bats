# tags: slow asan
load ../helper

@test "--reference times every row against a variant, in turns, with an interval per mode" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_ref,cpu_flash --reference cpu_ref \
    --json "$TMP/r.json" --csv "$TMP/r.csv" --journal "$TMP/r.journal"
  expect_valid results/report.schema.json "$TMP/r.json"
  python scripts/proof/validate_report.py "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["speedup_vs"]["reference"] == "cpu_ref" and 6 <= s["rounds"] <= 15
    and 0 < s["ci95_low"] <= s["ratio"] <= s["ci95_high"]
    for r in d["results"] if r["variant"] == "cpu_flash" for s in (r["speedup_vs"]["cold"], r["speedup_vs"]["hot"]))'
  expect_json "$TMP/r.json" 'all(r["speedup_vs"] is None and r["speedup_vs_reason"] == "the row is the reference"
    for r in d["results"] if r["variant"] == "cpu_ref")'
  attn report "$TMP/r.journal" --json "$TMP/again.json" --csv "$TMP/again.csv"
  cmp "$TMP/r.json" "$TMP/again.json"
  cmp "$TMP/r.csv" "$TMP/again.csv"
  attn report "$TMP/r.journal"
  expect_out 'vs ref'
  expect_out 'vs ref = time of cpu_ref over the row'
}

@test "the CSV has the ratio of each row's own mode" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash --reference cpu_ref --filter causal=true \
    --json "$TMP/r.json" --csv "$TMP/r.csv"
  python - "$TMP/r.csv" "$TMP/r.json" <<'PY'
import csv, json, sys
rows = {r["mode"]: r for r in csv.DictReader(open(sys.argv[1], newline=""))}
speedup = json.load(open(sys.argv[2]))["results"][0]["speedup_vs"]
for mode in ("cold", "hot"):
    assert rows[mode]["speedup_vs_reference"] == "cpu_ref"
    for key in ("ratio", "ci95_low", "ci95_high", "rounds"):
        assert float(rows[mode]["speedup_vs_" + key]) == speedup[mode][key], (mode, key)
PY
}

@test "a CPU run has no reference unless one is named, and none switches it off" {
  for choice in "" "--reference none"; do
    # shellcheck disable=SC2086  # two words on purpose
    must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash $choice --json "$TMP/r.json"
    expect_json "$TMP/r.json" 'all(r["speedup_vs"] is None and r["speedup_vs_reason"] == "no reference was chosen"
      for r in d["results"])'
  done
  attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash
  refute_out 'vs ref'
}

@test "a misspelt reference is refused before anything is measured" {
  expect_refusal 2 'cpu_ref' -- --sweep tests/data/sweeps/tiny.json --device cpu --reference cpu_reff
}

@test "a reference of another device is refused" {
  expect_refusal 2 'does not run on' -- --sweep tests/data/sweeps/tiny.json --device cpu --reference wmma
}

@test "a wrong reference is a reason, not a measure" {
  must 0 attn_faulty --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash --reference fault_skip_head \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" and r["speedup_vs"] is None
    and r["speedup_vs_reason"].startswith("fault_skip_head: is wrong here") for r in d["results"])'
}

@test "the vendor's library is listed with why it is not here, and planned without a kernel" {
  must 0 attn list
  expect_out_matches '^cudnn +'
  must 0 attn plan --sweep shapes/v3.json --gpu h200 --variants cudnn --json "$TMP/plan.json"
  expect_json "$TMP/plan.json" 'all(r["status"] == "planned" and r["launches"] == [] and r["findings"] == []
    for r in d["results"])'
  local sweep
  sweep=$(write_file refused.json '{"attnbench_sweep": 1, "name": "refused", "shapes": [
    {"B": 1, "H": 1, "S": 64, "D": 64, "dtype": "f32"}, {"B": 1, "H": 1, "S": 64, "D": 512},
    {"B": 1, "H": 1, "S": 64, "D": 12}, {"B": 1, "H": 1, "Sq": 65, "Skv": 64, "D": 64, "causal": true}]}')
  attn plan --sweep "$sweep" --gpu h200 --variants cudnn --json "$TMP/plan.json"
  expect_json "$TMP/plan.json" '[r["status"] for r in d["results"]] == ["skipped"] * 4'
  expect_json "$TMP/plan.json" '[r["reason"].split()[0] for r in d["results"]] == ["dtype", "D", "D", "Sq"]'
}
