# Sums over 65536 to 1048576 keys.
load helper

setup() { need_gpu; }

# bug NAME: the kernel of tests/faults/wrong.h with this mistake, as a variant of the program.
bug() { printf 'gpu_wrong:bug=%d' "$(grep -oP '^  X\(\K\w+' tests/faults/wrong.h | grep -nx "$1" | cut -d: -f1 | awk '{print $1 - 1}')"; }

@test "tensor cores add in the steps, and cut at the places, that the check's bounds rest on" {
  need_tool nvcc
  nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_80,code=compute_80 -o "$TMP/accumulation" \
    tests/gpu/accumulation.cu
  must 0 capture "$TMP/accumulation"
  case $(grep -o 'capability [0-9.]*' "$OUT") in
    *9.0) grep -q '^fits mma.m16n8k16 16 25 ' "$OUT" && grep -q '^fits wgmma.m64n8k16 16 25 ' "$OUT" ;;
    *8.0) grep -q '^fits mma.m16n8k16 8 24 ' "$OUT" ;;
  esac
}

@test "right kernels are ok at every length" {
  must 0 attn --sweep shapes/long.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} <= {"ok", "skipped"}'
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"] if r["status"] == "ok"} >= {"wgmma", "mma_swizzle", "decode"}
    if d["device"]["cc_major"] == 9 else True'
  expect_json "$TMP/r.json" 'all(r["check"]["tolerance"]["step_keys"] == (16 if d["device"]["cc_major"] >= 9 else 8)
    for r in d["results"] if r["status"] == "ok")'
}

@test "kernels that are wrong are caught at these lengths, in the bounds of sums that may be truncated" {
  local name wrong=""
  for name in accumulate16 softmax_sum16 tile_first split_last out_skips_rescale sum_skips_rescale; do wrong+=",$(bug $name)"; done
  must 3 attn_faulty --shape B=1,H=16/4,S=1x262144,D=32 --device cuda --check-only --json "$TMP/r.json" --variants "$(bug none)$wrong"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] + ["wrong"] * 6'
  expect_json "$TMP/r.json" 'all(r["check"]["tolerance"]["step_keys"] > 0 for r in d["results"])'
  must 3 attn_faulty --shape B=1,H=16/4,S=1x1048576,D=32 --device cuda --check-only --json "$TMP/r.json" --variants "$(bug tile_first)"
}
