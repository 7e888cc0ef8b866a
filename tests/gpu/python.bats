# --load FILE.py:FUNCTION on a GPU: PyTorch, torch.compile, FlexAttention and Triton in the table.
load helper

FUNCTIONS=tests/data/torch_callables.py

setup() {
  need_gpu
  export PYTHONDONTWRITEBYTECODE=1
  for ATTN_PYTHON in "$ATTN_PYTHON" python3; do
    if "$ATTN_PYTHON" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then break; fi
    ATTN_PYTHON=
  done
  [ -n "$ATTN_PYTHON" ] || skip "no python3 here has a PyTorch that sees the GPU"
  export ATTN_PYTHON
  attn list --load "$FUNCTIONS:eager" eager
  [ "$status" -eq 0 ] || skip "$(head -n 1 "$ERR")"
}

# statuses: of the rows in their order, as one line.
statuses() { json "$TMP/r.json" '" ".join(r["status"] for r in d["results"])'; }

@test "eager functions are captured, read back and timed in turns with a built-in kernel" {
  attn --shape B=2,H=8/4,S=512,D=64,causal --shape B=1,H=4,S=1x4096,D=128,bf16 --load "$FUNCTIONS:eager" --load "$FUNCTIONS:several" \
    --variants eager,several,wmma --reference wmma --json "$TMP/r.json"
  [ "$(statuses)" = '"ok skipped ok ok ok ok"' ] || fail "$(statuses)"
  expect_status 0
  expect_json "$TMP/r.json" 'all(r["launches"] and r["launches"][0]["grid"] and "uncaptured" not in r for r in d["results"] if r["status"] == "ok")'
  expect_json "$TMP/r.json" 'len(d["results"][4]["launches"]) + d["results"][4]["plan"].get("more_kernels", 0) >= 3'
  expect_json "$TMP/r.json" 'all(r["time"][m]["median_us"] > 0 for r in d["results"] if r["status"] == "ok" for m in ("hot", "cold"))'
  expect_json "$TMP/r.json" 'd["results"][0]["speedup_vs"]["hot"]["ratio"] > 0 and d["results"][0]["check"]["after_timing"]'
  expect_json "$TMP/r.json" 'd["results"][0]["check"]["evidence"]["changed_us"] > 0'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "cudnn beside a function and a function as the reference, in one process" {
  must 0 attn --shape B=2,H=8,S=512,D=64 --load "$FUNCTIONS:eager" --load "$FUNCTIONS:several" --variants cudnn,wmma,several --reference eager \
    --json "$TMP/r.json" --modes hot,cold,steady
  expect_json "$TMP/r.json" 'all("hot" in r["speedup_vs"] for r in d["results"] if r["status"] == "ok")'
}

@test "torch.compile and FlexAttention compile before they are timed" {
  must 0 attn --shape B=1,H=4,S=512,D=64,lse --shape B=1,H=4,S=512,D=64 --load "$FUNCTIONS:compiled" --load kernels/example/callables.py:flex \
    --variants compiled,flex --timeout 300 --json "$TMP/r.json"
  [ "$(statuses)" = '"ok skipped ok ok"' ] || fail "$(statuses)"
  expect_json "$TMP/r.json" 'all(r["time"]["hot"]["median_us"] < 2000 and "uncaptured" not in r for r in d["results"] if r["status"] == "ok")'
}

@test "a Triton kernel in a .py file is a checked row beside the others" {
  "$ATTN_PYTHON" -c 'import triton' 2>/dev/null || skip "$ATTN_PYTHON has no triton"
  must 0 attn --shape B=2,H=8/2,S=1000,D=64,causal --shape B=1,H=4,S=512,D=128,bf16 --load triton=kernels/example/triton_flash.py:attention \
    --variants triton,wgmma,cudnn --timeout 300 --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" and "triton_flash" in r["launches"][0]["kernel"] for r in d["results"] if r["variant"] == "triton")'
}

@test "what cannot be captured is timed launch by launch, and marked" {
  attn --shape B=2,H=8,S=256,D=64 --load "$FUNCTIONS:waits" --load "$FUNCTIONS:other_stream" --variants waits,other_stream --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["results"][0]["status"] == "ok" and d["results"][0]["uncaptured"] and d["results"][0]["launches"] == []'
  expect_json "$TMP/r.json" 'd["results"][1]["status"] == "ok"'
  expect_out "not captured: waits (1 case)"
}

@test "wrong results, exceptions and broken devices cost their own cells" {
  must 3 attn --shape B=2,H=8,S=256,D=64 --load "$FUNCTIONS:zeros" --load "$FUNCTIONS:once" --load "$FUNCTIONS:raises" --load "$FUNCTIONS:bad_address" \
    --load "$FUNCTIONS:eager" --json "$TMP/r.json" --variants zeros,once,raises,bad_address,eager
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]][0] == "wrong" and [r["status"] for r in d["results"]][1] == "wrong"'
  expect_json "$TMP/r.json" '"ValueError: no such head" in d["results"][2]["reason"] and d["results"][3]["status"] in ("error", "crashed")'
  expect_json "$TMP/r.json" 'd["results"][4]["status"] == "ok"'
}
