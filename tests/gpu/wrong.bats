load helper

setup() { need_gpu; }

# bugs FIRST LAST: the bugs of tests/faults/wrong.h between two names, as variants of the program.
bugs() {
  grep -oP '^  X\(\K\w+' tests/faults/wrong.h | awk -v first="$1" -v last="$2" '
    $1 == first { on = 1 }
    on { printf "%sgpu_wrong:bug=%d", comma, NR - 1; comma = "," }
    $1 == last { exit }'
}

@test "every GPU kernel of the library of wrong ones is wrong somewhere, the one without a bug nowhere" {
  must 3 attn_faulty --sweep tests/data/sweeps/wrong.json --device cuda --check-only --json "$TMP/r.json" \
    --variants "$(bugs none v_bias)"
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} - {r["variant"] for r in d["results"]
    if r["status"] == "wrong"} <= {"gpu_wrong", "gpu_wrong:bug=0"}'
  expect_json "$TMP/r.json" 'not any(r["status"] == "wrong" for r in d["results"] if r["variant"] in ("gpu_wrong", "gpu_wrong:bug=0"))'
}

@test "every GPU kernel whose log-sum-exp is wrong is caught" {
  must 3 attn_faulty --sweep tests/data/sweeps/wrong_lse.json --device cuda --check-only --json "$TMP/r.json" \
    --variants "gpu_wrong,$(bugs lse_unwritten lse_beyond)"
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} - {r["variant"] for r in d["results"]
    if r["status"] == "wrong"} == {"gpu_wrong"}'
  expect_json "$TMP/r.json" 'not any(r["status"] == "wrong" for r in d["results"] if r["variant"] == "gpu_wrong")'
}

@test "every GPU kernel that mistakes a window, a head dimension of V, a soft cap, a sink, a layout, a batch, e4m3, pages or a V in K is caught" {
  local row axis
  # Not e4m3_lse_rounded: on a GPU scores may be sums of 14 bits, which moves the log-sum-exp by more than that rounding. The CPU's
  # test of these kernels has it.
  for row in "window window_left_more window_swapped" "dv dv_v_stride dv_dot" "softcap softcap_ignored softcap_rounded" \
    "sink sink_ignored sink_late" "layout layout_q_dense layout_lse" "batch ragged_padded ragged_tokens_lse" \
    "e4m3 e4m3_v_permuted e4m3_subnormal" "page page_next prefix_written" "v_in_k v_in_k_last v_in_k_scale" \
    "sparse sparse_ignored sparse_empty_lse"; do
    read -r -a axis <<<"$row"
    must 3 attn_faulty --sweep "tests/data/sweeps/wrong_${axis[0]}.json" --device cuda --check-only --json "$TMP/r.json" \
      --variants "gpu_wrong,$(bugs "${axis[1]}" "${axis[2]}")"
    expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} - {r["variant"] for r in d["results"]
      if r["status"] == "wrong"} == {"gpu_wrong"}'
    expect_json "$TMP/r.json" 'not any(r["status"] == "wrong" for r in d["results"] if r["variant"] == "gpu_wrong")'
  done
}

@test "GPU kernels that skip launches are wrong or implausible" {
  cat >"$TMP/small.json" <<'JSON'
{"attnbench_sweep": 1, "name": "small", "shapes": [{"B": 1, "H": 2, "S": 9, "D": 32}]}
JSON
  must 3 attn_faulty --sweep "$TMP/small.json" --device cuda --json "$TMP/r.json" --variants "$(bugs first_only changes_k)"
  expect_json "$TMP/r.json" '[r["variant"] for r in d["results"] if r["status"] == "ok"] == []'
  expect_json "$TMP/r.json" 'all(r["time"] is None for r in d["results"])'
}

@test "a race of one launch in 50 in one row is found on the GPU, where every sample is compared in all rows" {
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
    attn_faulty --shape B=1,H=2,S=9,D=32 --device cuda --json "$TMP/r.json" --variants "$(bugs races races),gpu_wrong"
    expect_json "$TMP/r.json" 'all(e["timed_rows_ratio"] == 1 for r in d["results"] for e in [r["check"]["evidence"]])'
    [ "$status" = 0 ] || break
  done
  expect_status 3
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["wrong", "ok"]'
}

@test "checking costs less than a tenth of the v3 sweep" {
  must 0 attn --sweep shapes/v3.json --device cuda --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'sum(r["check"]["evidence"]["seconds"] for r in d["results"] if r["check"]) < 0.1 * d["run"]["wall_s"]'
}
