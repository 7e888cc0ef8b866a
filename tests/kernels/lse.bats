# The log-sum-exp as a second output: asked for by a case, written by some variants, compared for every row.
load ../helper

@test "a case with lse is checked row by row, says so in its key and shape, and other cases say nothing of it" {
  cat >"$TMP/s.json" <<'JSON'
{"attnbench_sweep": 1, "name": "s", "defaults": {"B": 1, "Hq": 4, "Hkv": 2, "D": 40},
 "grid": [{"Sq": [5, 90], "Skv": 70, "causal": [false, true], "dtype": ["f16", "f32"], "lse": true}],
 "shapes": [{"S": 9}]}
JSON
  expect_valid results/sweep.schema.json "$TMP/s.json"
  must 0 attn --sweep "$TMP/s.json" --device cpu --check-only --variants cpu_flash,cpu_ref,auto --json "$TMP/r.json" --csv "$TMP/r.csv" --journal "$TMP/j"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" 'len(d["results"]) == 27 and all(r["status"] == "ok" for r in d["results"])'
  expect_json "$TMP/r.json" 'all(r["key"].endswith(".lse") and r["shape"]["lse"] is True
    and r["check"]["lse"]["rows"] == 4 * r["shape"]["Sq"] and r["check"]["lse"]["max_bound_ratio"] < 0.5
    for r in d["results"][3:])'
  expect_json "$TMP/r.json" 'not any("lse" in r["key"] or "lse" in r["shape"] or "lse" in r["check"] for r in d["results"][:3])'
  expect_json "$TMP/r.json" 'all(r["bytes"] == (2 * 40 * (4 * r["shape"]["Sq"] + 2 * r["shape"]["Skv"])
    * (4 if r["shape"]["dtype"] == "f32" else 2) + (16 * r["shape"]["Sq"] if "lse" in r["shape"] else 0)) for r in d["results"])'
  expect_json "$TMP/r.json" 'list(d["conventions"]) == ["lse"] and "natural logarithm" in d["conventions"]["lse"]'
  expect_out 'conventions: lse (`attnbench describe lse` explains one)'
  must 0 attn report "$TMP/j" --json "$TMP/again.json" --html "$TMP/p.html" --markdown "$TMP/p.md"
  grep -q 'natural logarithm' "$TMP/p.html" && grep -q '`lse`: .*natural logarithm' "$TMP/p.md" || fail "the convention is missing"
  cmp "$TMP/r.json" "$TMP/again.json"
}

@test "what does not write the log-sum-exp is skipped with that reason, auto picks among those that do" {
  attn plan --gpu h200 --json "$TMP/p.json" --variants wmma,one_query,wgmma,wgmma:exp2_fma=2,warpgroups=3,pingpong=1,lazy=1,serial,cluster_split,auto \
    --shape B=1,H=8,S=4,512,D=64,lse
  expect_json "$TMP/p.json" 'all((r["status"] == "skipped" and "lse must be false" in r["reason"]) == (r["variant"] in ("wmma", "one_query"))
    for r in d["results"])'
  expect_json "$TMP/p.json" 'all("exp2_fma must be 0" in r["reason"] for r in d["results"] if "exp2_fma" in r["variant"])'
  expect_json "$TMP/p.json" '[r["picked"] for r in d["results"] if r["variant"] == "auto"] == ["cluster_split", "cluster_split"]'
  # For four keys it would be one_query.
  attn plan --gpu h200 --json "$TMP/q.json" --variants auto --shape B=1,H=8,S=4,D=64
  expect_json "$TMP/q.json" 'd["results"][0]["picked"] == "one_query"'
  # Where nothing writes it, auto says that it is for that.
  attn plan --gpu h200 --json "$TMP/q.json" --variants auto --shape B=1,H=8,S=64,D=512,lse
  expect_json "$TMP/q.json" 'd["results"][0]["status"] == "skipped" and "lse must be left out: no variant" in d["results"][0]["reason"]'
}

@test "a loaded kernel writes the log-sum-exp when it says so, and is skipped otherwise" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/example.so" ] || folder=$(make -s print-BUILD)
  attn --load "$folder/example.so" --load "$folder/tests/plugins/sound.so" --shape B=1,H=2,S=9,D=8,full,causal,lse --device cpu \
    --check-only --variants example_cpu,sound --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "skipped"] * 2
    and all("lse must be false" in r["reason"] for r in d["results"] if r["variant"] == "sound")'
  attn list --load "$folder/example.so" --json example_warp
  expect_json "$OUT" 'd["variants"][0]["writes_lse"] is True'
  attn list --json cpu_flash
  expect_json "$OUT" 'd["variants"][0]["writes_lse"] is True'
  COLUMNS=160 attn list cpu_flash
  grep -q 'also takes: .*lse' "$OUT" || fail "$(cat "$OUT")"
}

@test "--filter lse keeps the cases with it, and a case without it is another cell" {
  must 0 attn --shape B=1,H=1,S=8,D=8,lse=false,lse --filter lse --device cpu --check-only --variants cpu_ref --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["key"] for r in d["results"]] == ["B1.H1.Hkv1.Sq8.Skv8.D8.f16.full.lse"]'
  attn --shape B=1,H=1,S=8,D=8,lse=false,lse --device cpu --check-only --variants cpu_ref --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'len({r["key"] for r in d["results"]}) == 2'
}
