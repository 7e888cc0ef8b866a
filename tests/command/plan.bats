# tags: slow asan
load ../helper

@test "plan on an L4 shows S1's two blocks on 58 SMs, 3.4 %" {
  must 0 attn plan --sweep shapes/n6.json --gpu l4 --variants scalar --filter S=128
  expect_out '2 blocks on 58 SMs'
  expect_out '3.4 %'
}

@test "plan names serial as blind to B*H and no other variant" {
  must 0 attn plan --sweep shapes/v3.json --gpu h200 --json "$TMP/plan.json"
  expect_valid results/report.schema.json "$TMP/plan.json"
  expect_json "$TMP/plan.json" '{r["variant"] for r in d["results"] if any(f["id"] == "grid_misses_bh"
    for f in r["findings"])} == {"serial"}'
  expect_json "$TMP/plan.json" 'all(r["status"] in ("planned", "skipped") and r["time"] is None
    and r["tflop_per_s"] is None for r in d["results"])'
  expect_json "$TMP/plan.json" 'all("D must be" in r["reason"] for r in d["results"] if r["status"] == "skipped")'
  expect_json "$TMP/plan.json" '[r["launches"][0]["grid"] for r in d["results"] if r["variant"] == "serial"]
    == [[2, 1, 1]] * 3'
}

@test "every shipped sweep plans on a GPU of every compute capability, and every plan is a valid report" {
  for sweep in shapes/*.json; do
    for gpu in a10 l4 a100 h200 b200 rtx5090; do
      must 0 attn plan --sweep "$sweep" --gpu "$gpu" --json "$TMP/$(basename "$sweep" .json)-$gpu.json"
    done
  done
  expect_valid --sample results/report.schema.json "$TMP"/*-*.json
}

@test "list tells what each variant is and whether it runs here" {
  must 0 attn list
  for name in cpu_ref cpu_flash serial scalar wmma_qk wmma cp_async mma_swizzle wgmma cluster_split split_kv cudnn; do
    expect_out_matches "^$name "
  done
  expect_out 'tunable stages = 2..3, default 2'
  must 0 attn list --json
  expect_json "$OUT" '{v["name"]: v["available"] for v in d["variants"]}["cpu_ref"]'
  expect_json "$OUT" 'all(v["available"] or v["reason"] for v in d["variants"])'
}

@test "a plan knows what the compiler gave every kernel of this GPU" {
  must 0 attn plan --sweep shapes/prefill.json --gpu h200 --variants scalar,mma_swizzle,wgmma --json "$TMP/p.json"
  expect_json "$TMP/p.json" 'any(pass_["registers"] for r in d["results"] for pass_ in r["launches"] or [])' 2>/dev/null ||
    skip "built without code for compute capability 9.0"
  expect_json "$TMP/p.json" 'all(pass_["registers"] for r in d["results"] for pass_ in r["launches"] or [])'
  expect_json "$TMP/p.json" '{r["variant"] for r in d["results"] if r["launches"]} == {"scalar", "mma_swizzle", "wgmma"}'
}
