# tags: long slow asan
load ../helper
load ../wrong

@test "every kernel of the library of wrong ones is wrong somewhere, and the reason names the place" {
  [ "$(bugs mask_one_more v_bias | tr ',' '\n' | grep -c .)" -ge 61 ] || fail "some bugs are gone"
  expect_each_wrong wrong mask_one_more v_bias "'first at [b=' in r['reason'] or 'error norm' in r['reason']"
}

@test "the same kernel without a bug is right, far from every bound" {
  must 0 attn_faulty --sweep tests/data/sweeps/wrong.json --device cpu --check-only --json "$TMP/r.json" --variants wrong
  expect_json "$TMP/r.json" 'all(r["check"]["evidence"]["hard_ratio"] < 0.7
    and r["check"]["evidence"]["max_row_ratio"] < 0.7 and r["check"]["evidence"]["norm_ratio"] < 0.7 for r in d["results"])'
}

@test "every kernel whose log-sum-exp is wrong is caught, and the reason names it and the row" {
  must 3 attn_faulty --sweep tests/data/sweeps/wrong_lse.json --device cpu --check-only --json "$TMP/r.json" \
    --variants "wrong,$(bugs lse_unwritten lse_beyond)"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" 'len({r["variant"] for r in d["results"] if r["status"] == "wrong"}) >= 10
    and {r["variant"] for r in d["results"]} - {r["variant"] for r in d["results"] if r["status"] == "wrong"} == {"wrong"}'
  expect_json "$TMP/r.json" 'all(r["reason"].startswith("the log-sum-exp (LSE) of") and "first at [b=" in r["reason"]
    or "first beside lse" in r["reason"] for r in d["results"] if r["status"] == "wrong")'
  # The last row of the first head is the first that is not written; O is right there.
  expect_json "$TMP/r.json" '"of 2 of 180 query rows" in d["results"][1]["reason"] and "[b=0, h=0, q=89]" in d["results"][1]["reason"]
    and d["results"][1]["check"]["bad_count"] == 0 and d["results"][1]["check"]["lse"]["first_bad"] == 89'
  expect_json "$TMP/r.json" 'all(r["check"]["lse"]["max_bound_ratio"] < 0.5 and r["check"]["evidence"]["hard_ratio"] < 0.7
    and r["check"]["lse"]["rows"] in (180, 20) for r in d["results"] if r["status"] == "ok" and r["variant"] == "wrong")'
}

@test "a log-sum-exp that timed launches do not write is wrong" {
  must 3 attn_faulty --shape B=1,H=2,S=9,D=32,lse --device cpu --quick --json "$TMP/r.json" --variants "$(bugs lse_later lse_later),wrong"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["wrong", "ok"] and d["results"][0]["time"] is None
    and ("log-sum-exp (LSE)" in d["results"][0]["reason"] or "timed samples left an output" in d["results"][0]["reason"])'
}

@test "a kernel that keeps P from launch to launch is wrong: changed inputs change scores, not their signs alone" {
  for shape in B=1,H=2,S=9,D=32 B=2,H=4/1,S=9,D=32 B=1,H=6/3,S=9,D=32; do
    # It keeps P from its 12th launch on, which a busy machine may not come to in a run.
    for _ in 1 2 3 4 5; do
      attn_faulty --shape "$shape" --device cpu --quick --json "$TMP/r.json" --variants "$(bugs keeps_p keeps_p),wrong"
      [ "$status" = 0 ] || break
    done
    expect_status 3
    expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["wrong", "ok"]'
  done
}

@test "outputs are known under changed inputs: layouts, sinks, windows and LSE stay right" {
  must 0 attn_faulty --device cpu --quick --json "$TMP/r.json" --variants wrong --shape B=2,H=6/3,S=33,D=32,lse \
    --shape B=2,H=4,S=33,D=32,layout=bshd --shape B=2,H=4,S=33,D=32,layout=qkv --shape B=3,H=8/2,S=21,D=32,sink,causal,lse \
    --shape B=1,H=1,S=21,D=32 --shape B=1,H=4/1,S=5x40,D=32,causal,window=7:0 \
    --shape B=3,H=4/2,S=5x40,D=32,causal,lse,page=8,prefix=16 --shape B=2,H=4,S=9x40,D=32,Dv=24,v_in_k,page=16
  expect_json "$TMP/r.json" 'all(r["check"]["evidence"]["timed_wrong"] == 0 and r["check"]["evidence"]["timed_samples"] > 0
    for r in d["results"])'
}

@test "a race of one launch in 50 in one row is found, as probably as the row says" {
  # Each run finds it with a probability of more than a half.
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    attn_faulty --shape B=1,H=2,S=9,D=32 --device cpu --json "$TMP/r.json" --variants "$(bugs races races),wrong"
    expect_json "$TMP/r.json" 'all(e["timed_rows_ratio"] == 1 and
      abs(1 - 0.98 ** e["timed_samples"] - e["race_found_ratio"]) < 1e-9 and e["race_found_ratio"] > 0.5
      for r in d["results"] for e in [r["check"]["evidence"]] if r["status"] == "ok")'
    [ "$status" = 0 ] || break
  done
  expect_status 3
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["wrong", "ok"]'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "of a large output a CPU compares a part, and says so" {
  must 0 attn --shape B=2,H=8,S=1024x64,D=64 --device cpu --quick --variants cpu_flash --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[(e["timed_rows_ratio"], abs(1 - (1 - 0.25 / 50) ** e["timed_samples"] - e["race_found_ratio"]) < 1e-9)
    for r in d["results"] for e in [r["check"]["evidence"]]] == [(0.25, True)]'
}

@test "mistakes that random inputs cannot show are found on hard ones" {
  must 3 attn_faulty --sweep tests/data/sweeps/wrong.json --device cpu --check-only --filter 'Skv<=200' --filter D=64 --json "$TMP/r.json" \
    --variants "$(bugs softmax_no_max softmax_clamped),$(bugs v_tiny v_tiny),$(bugs mask_added mask_added)"
  expect_json "$TMP/r.json" 'all("on inputs of kind" in r["reason"] for r in d["results"] if r["status"] == "wrong")'
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"] if r["status"] == "wrong"}
    == {r["variant"] for r in d["results"]}'
}

@test "kernels that skip launches are wrong or implausible, whatever they look at" {
  cat >"$TMP/small.json" <<'JSON'
{"attnbench_sweep": 1, "name": "small", "shapes": [{"B": 1, "H": 2, "S": 9, "D": 32}]}
JSON
  # On a busy machine a hot sample may come to one launch. That launch meets changed inputs, so nothing is skipped in
  # what is timed, and the row may be right.
  for _ in 1 2 3 4 5; do
    must 3 attn_faulty --sweep "$TMP/small.json" --device cpu --quick --json "$TMP/r.json" \
      --variants "$(bugs first_only remembers),wrong"
    expect_json "$TMP/r.json" 'all(r["variant"] == "wrong" or r["time"]["hot"]["launches_per_sample"] == 1
      for r in d["results"] if r["status"] == "ok")'
    ! expect_json "$TMP/r.json" '[r["variant"] for r in d["results"] if r["status"] == "ok"] == ["wrong"]' 2>/dev/null || break
  done
  expect_json "$TMP/r.json" '[r["variant"] for r in d["results"] if r["status"] == "ok"] == ["wrong"]'
  expect_json "$TMP/r.json" 'all(r["time"] is None and r["tflop_per_s"] is None
    for r in d["results"] if r["status"] != "ok")'
  expect_json "$TMP/r.json" 'any(r["status"] == "implausible" and "inputs that were seen before skip work" in r["reason"]
    for r in d["results"])'
  expect_json "$TMP/r.json" '[r["check"]["evidence"]["timed_samples"] > 20 and r["check"]["evidence"]["timed_wrong"] == 0
    for r in d["results"] if r["status"] == "ok"] == [True]'
}
