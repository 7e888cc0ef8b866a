# tags: slow asan
load ../helper

# diagnose NAME: the report of tests/data/times_NAME.json in $TMP/r.json, valid.
diagnose() {
  must 0 attn diagnose "tests/data/times_$1.json" --json "$TMP/r.json"
  expect_valid results/report.schema.json "$TMP/r.json"
}

# finding VARIANT ID: the texts of this finding, over the variant's rows in the order of the report.
finding() { json "$TMP/r.json" "[f['measured'] for r in d['results'] if r['variant'] == '$1' for f in r['findings'] if f['id'] == '$2']"; }
expect_finding() { finding "$1" "$2" | grep -qF -e "$3" || fail "$1: $2 does not say: $3; but: $(finding "$1" "$2")"; }
refute_finding() { [ "$(finding "$1" "$2")" = "[]" ] || fail "$1 should have no $2: $(finding "$1" "$2")"; }

@test "S0: the geometry says serial and the time agrees" {
  diagnose s0
  expect_finding v3 grid_misses_bh 'blocks stay at 2 while B*H grows 8 -> 128'
  expect_finding v3 grid_misses_bh 'hot time grew 17.2x for 16.0x the work: serialised over B*H'
  expect_json "$TMP/r.json" '[f["advice"] for f in d["results"][2]["findings"]][0].startswith("put B*H on a grid axis: grid (2,128,1) = 256 blocks")'
  expect_json "$TMP/r.json" '[r["scaling"]["verdict"] for r in d["results"]][:3] == ["none", "serial", "serial"]'
}

@test "S0 without its grid: linear time alone names no cause" {
  diagnose s0_no_grid
  refute_finding v3 grid_misses_bh
  expect_finding v3 scales_with_bh 'a grid that misses B*H and a full GPU both do this, and time alone cannot tell them apart'
  expect_finding v3 scales_with_bh '1.08x per unit of work'
}

@test "S1: flat to 32 blocks because SMs are idle, then six SMs carry two blocks" {
  diagnose s1
  expect_json "$TMP/r.json" '[(r["launches"][0]["blocks"], r["scaling"]["verdict"]) for r in d["results"] if r["scaling"]]
    == [(2, "none"), (8, "flat"), (8, "flat"), (32, "flat"), (64, "as_blocks_per_sm")]'
  expect_finding n6 scales_with_bh 'the time hardly grew: idle SMs took the extra work'
  expect_finding n6 below_one_wave '2 blocks on 58 SMs: 2 SMs (3.4 %) get one'
  expect_finding n6 tail_wave '64 blocks on 58 SMs: 6 SMs carry 2 blocks, the other 52 carry 1'
  expect_finding n6 idle_threads '64 of 256 threads hold a query row in the compute phase: 75 % wait'
  [ "$(json "$TMP/r.json" 'sum(f["id"] == "tail_wave" for r in d["results"] for f in r["findings"])')" = 1 ]
}

@test "S3: sixteen blocks on 108 SMs are the cause, and the rereads stay in L2" {
  diagnose s3
  expect_finding large_dims below_one_wave '16 blocks on 108 SMs'
  expect_finding large_dims rereads_kv 'the 1.05 MB of K and V in flight stay in the 41.9 MB of L2'
  refute_finding large_dims memory_bound
  expect_json "$TMP/r.json" 'd["results"][2]["traffic"]["reread_ratio"] == 16 and d["results"][2]["traffic"]["fits_l2"]'
}

@test "S4: below one percent of the tensor roof is not tensor-bound" {
  diagnose s4
  refute_finding v6a compute_bound
  refute_finding v7a compute_bound
  expect_finding v6a latency_bound '0.456 TFLOP/s'
  expect_finding v6a latency_bound '0.39 % of the mma.sync roof'
  # Two blocks of 69 KB do not fit the 100 KB of an SM, whatever their report says.
  expect_json "$TMP/r.json" 'all(l["resident_blocks"] == 1 for r in d["results"] for l in r["launches"])'
}

@test "the text of every hand-entered table is as golden" {
  for name in s0 s0_no_grid s1 s3 s4; do
    COLUMNS='' must 0 attn diagnose "tests/data/times_$name.json"
    [ -z "${ATTN_UPDATE_GOLDEN:-}" ] || cp "$OUT" "tests/data/times_$name.txt"
    diff "tests/data/times_$name.txt" "$OUT" || fail "tests/data/times_$name.txt differs"
  done
}

@test "times entered by hand are never called checked" {
  diagnose s0
  expect_json "$TMP/r.json" 'all(r["check"] is None and "by hand" in r["check_reason"] for r in d["results"])'
  expect_json "$TMP/r.json" 'd["run"]["started_utc"] is None'
  attn diagnose tests/data/times_s0.json
  expect_out 'did not measure this: times entered by hand'
}

@test "a report diagnosed again is the same report, of a run, of a plan and of times" {
  attn --sweep tests/data/sweeps/tiny.json --device cpu --json "$TMP/run.json"
  attn plan --sweep shapes/smoke.json --gpu l4 --json "$TMP/plan.json"
  attn diagnose tests/data/times_s1.json --json "$TMP/times.json"
  for name in run plan times; do
    must 0 attn diagnose "$TMP/$name.json" --json "$TMP/again.json"
    cmp "$TMP/$name.json" "$TMP/again.json" || fail "$name.json came back different"
  done
}

@test "a variant that this build does not have keeps its geometry" {
  attn plan --sweep shapes/v3.json --gpu h200 --variants serial --json "$TMP/plan.json"
  sed 's/"serial"/"someone_elses"/' "$TMP/plan.json" >"$TMP/other.json"
  must 0 attn diagnose "$TMP/other.json"
  expect_out 'someone_elses: grid_misses_bh'
}

@test "geometry can be taken from a variant of the registry" {
  write_file t.json '{"schema": "attnbench.times/1", "name": "t", "gpu": "l4", "rows": [
    {"variant": "mine", "like": "split_kv:splits=4", "shape": {"B": 1, "H": 8, "S": 512, "D": 64}, "hot_us": 9.5}]}'
  must 0 attn diagnose "$TMP/t.json" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["results"][0]["variant"] == "mine" and d["results"][0]["launches"][0]["grid"] == [32, 8, 1]'
}

# refuse MESSAGE ROW: a times file with this row is refused with the place.
refuse() {
  write_file t.json "{\"schema\": \"attnbench.times/1\", \"name\": \"t\", \"gpu\": \"l4\", \"rows\": [$2]}" >/dev/null
  expect_refusal 7 "$1" -- diagnose "$TMP/t.json"
  expect_err_matches 't\.json:1:[0-9]+: '
}

@test "a damaged table is refused with its place" {
  shape='"shape": {"B": 1, "H": 8, "S": 512, "D": 64}'
  refuse 'has no "variant"' "{$shape}"
  refuse 'has no "shape"' '{"variant": "x", "math": "fp32"}'
  refuse 'has neither "math"' "{\"variant\": \"x\", $shape, \"hot_us\": 3}"
  refuse 'did you mean "hot_us"' "{\"variant\": \"x\", \"math\": \"fp32\", $shape, \"hot_ms\": 3}"
  refuse 'a time that cannot be' "{\"variant\": \"x\", \"math\": \"fp32\", $shape, \"hot_us\": 0}"
  refuse 'a time that cannot be' "{\"variant\": \"x\", \"math\": \"fp32\", $shape, \"hot_us\": 86400000001}"
  refuse 'does not take this shape' '{"variant": "x", "like": "wmma", "shape": {"B": 1, "H": 8, "S": 512, "D": 63}}'
  refuse 'the one or the other' "{\"variant\": \"x\", \"like\": \"wmma\", \"math\": \"fp32\", $shape}"
  refuse 'without "tile_q"' "{\"variant\": \"x\", \"math\": \"fp32\", $shape, \"launches\": [{\"grid\": [1, 1, 1],
    \"block\": [32, 1, 1], \"axis_covers\": [\"-\", \"-\", \"-\"]}]}"
  row="{\"variant\": \"x\", \"math\": \"fp32\", $shape}"
  write_file t.json "{\"schema\": \"attnbench.times/1\", \"name\": \"t\", \"gpu\": \"l4\", \"rows\": [$row, $row]}" >/dev/null
  expect_refusal 7 'appears twice' -- diagnose "$TMP/t.json"
  expect_refusal 7 'is a sweep' -- diagnose shapes/v3.json
  expect_refusal 7 'no_such' -- diagnose no_such.json
  expect_refusal 2 'needs 1 report' -- diagnose
}

@test "groups of one variant are told apart by their baselines" {
  local times
  times=$(write_file t.json '{"schema": "attnbench.times/1", "name": "two", "gpu": "l4", "rows": [
    {"variant": "v", "math": "fp32", "shape": {"B": 1, "H": 1, "S": 128, "D": 64}, "hot_us": 10},
    {"variant": "v", "math": "fp32", "shape": {"B": 2, "H": 1, "S": 128, "D": 64}, "hot_us": 20},
    {"variant": "v", "math": "fp32", "shape": {"B": 1, "H": 1, "S": 256, "D": 64}, "hot_us": 30},
    {"variant": "v", "math": "fp32", "shape": {"B": 2, "H": 1, "S": 256, "D": 64}, "hot_us": 60}]}')
  COLUMNS=160 must 0 attn diagnose "$times"
  expect_out_matches 'B2.H1.Hkv1.Sq128.Skv128.D64.f16.full +1 -> 2 +2.000 .*10.00 -> 10.00'
  expect_out_matches 'B2.H1.Hkv1.Sq256.Skv256.D64.f16.full +1 -> 2 +2.000 .*30.00 -> 30.00'
}

@test "a cache of e4m3 that takes as long as one of 16 bits is bound by its conversion, and one that is twice as fast is not" {
  diagnose kv8
  expect_finding bitwise convert_bound '240 us with K and V of e4m3; 250 us with K and V of bf16, which are 2.00x the bytes'
  refute_finding paired convert_bound
  expect_json "$TMP/r.json" '[r["shape"]["kv_dtype"] for r in d["results"] for f in r["findings"] if f["id"] == "convert_bound"]
    == ["e4m3"]'
  expect_json "$TMP/r.json" 'all(1.85 < f["gain_ratio"] < 2 for r in d["results"] for f in r["findings"] if f["id"] == "convert_bound")'
}

# found_in_plan VARIANT ID: how many rows of $TMP/plan.json have the finding.
found_in_plan() {
  json "$TMP/plan.json" "sum(f['id'] == '$2' for r in d['results'] if r['variant'] == '$1' for f in r['findings'])"
}

@test "unlike lengths are named on a grid of one block per item, and not on kernels that share the keys out" {
  must 0 attn plan --shape batch=64q1s1k_1q1s128k,H=32/8,D=128,bf16 --gpu h200 --json "$TMP/plan.json" --variants decode_general,scalar
  expect_valid results/report.schema.json "$TMP/plan.json"
  [ "$(found_in_plan scalar imbalanced) $(found_in_plan decode_general imbalanced)" = '1 0' ]
  must 0 attn plan --shape batch=1q8k_15q512s512,H=16/4,D=128,causal,bf16 --gpu h200 --json "$TMP/plan.json" --variants wgmma_general
  [ "$(found_in_plan wgmma_general imbalanced)" = 0 ]
  # One head of one sequence has more keys than all others together: a loop over whole tiles cannot share that out.
  must 0 attn plan --shape batch=1q128s128k_200q128s128,H=1,D=128,bf16 --gpu h200 --json "$TMP/plan.json" --variants wgmma_general
  [ "$(found_in_plan wgmma_general imbalanced)" = 1 ]
}

@test "a page is scattered where a head has less of it side by side than a burst of DRAM" {
  for shape in D=16,page=16:1 D=16,page=1:1 D=16,page=16,layout=hnd:0 D=128,page=1:0; do
    must 0 attn plan --shape "B=64,H=8,S=1x4096,${shape%:*}" --gpu h200 --json "$TMP/plan.json" --variants scalar
    [ "$(found_in_plan scalar page_scattered)" = "${shape#*:}" ] || fail "$shape"
  done
  expect_valid results/report.schema.json "$TMP/plan.json"
}

@test "describe and completion know every finding" {
  for id in imbalanced page_scattered convert_bound; do
    must 0 attn describe "$id"
    expect_out "$id"
  done
}
