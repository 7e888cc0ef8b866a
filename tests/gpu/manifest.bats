# Kernels from files, launched: cubins and PTX of tests/gpu/plain_attention.cu and tma_attention.cu.
load helper

setup() {
  need_gpu
  need_tool nvcc
  cp tests/data/plain_attention.json "$TMP/plain.json"
  nvcc -O3 -std=c++17 -gencode=arch=compute_90,code=sm_90 -cubin -o "$TMP/plain.cubin" tests/gpu/plain_attention.cu
}

run_plain() {
  attn --shape B=2,H=4/2,S=65x129,D=64,f16,full,causal --shape B=1,H=8,S=512,D=64 --device cuda --load "$TMP/plain.json" \
    --variants plain,scalar --json "$TMP/r.json" "$@"
}

@test "a cubin is right, timed beside the reference, and its facts are its own" {
  must 0 run_plain
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] * 6'
  expect_json "$TMP/r.json" 'all("plain_attention" in r["launches"][0]["kernel"] and r["launches"][0]["registers"] > 10
    for r in d["results"] if r["variant"] == "plain")'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "PTX is compiled by the driver, and is a reference like any other" {
  nvcc -O3 -std=c++17 -arch=compute_80 -ptx -o "$TMP/plain.ptx" tests/gpu/plain_attention.cu
  sed -i 's/plain.cubin/plain.ptx/; s/"9.0"/"8.0"/' "$TMP/plain.json"
  must 0 run_plain --quick --reference plain
  expect_json "$TMP/r.json" 'all(r["speedup_vs"]["reference"] == "plain" for r in d["results"] if r["variant"] == "scalar")'
}

@test "a kernel that is not there, takes other arguments or is for another GPU costs its own cells, with a sentence" {
  sed -i 's/"plain_attention"/"plain_attentions"/' "$TMP/plain.json"
  run_plain --check-only
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["skipped", "ok"] * 3 and "has no kernel" in d["results"][0]["reason"]'
  sed 's/, {"f64": 1}//' tests/data/plain_attention.json >"$TMP/plain.json"
  run_plain --check-only
  expect_json "$TMP/r.json" '"takes 12 arguments, and 11 are described" in d["results"][0]["reason"]'
  sed 's/{"i8": "causal"}/{"i32": "causal"}/' tests/data/plain_attention.json >"$TMP/plain.json"
  run_plain --check-only
  expect_json "$TMP/r.json" '"argument 7 of plain_attention has 1 bytes" in d["results"][0]["reason"]'
  head -c 500 "$TMP/plain.cubin" >"$TMP/cut" && mv "$TMP/cut" "$TMP/plain.cubin"
  run_plain --check-only
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]][1::2] == ["ok"] * 3 and "is cut short" in d["results"][0]["reason"]'
}

@test "tensor maps of three and four dimensions, swizzled and not, reach the kernel" {
  cp tests/data/tma_attention.json "$TMP/mapped.json"
  nvcc -O3 -std=c++17 -gencode=arch=compute_90,code=sm_90 -cubin -o "$TMP/mapped.cubin" tests/gpu/tma_attention.cu
  mapped() {
    attn --shape B=2,H=4/2,S=65x129,D=64,f16,full,causal --shape B=1,H=8,S=512,D=64 --device cuda --load "$TMP/mapped.json" \
      --variants mapped --check-only --json "$TMP/r.json"
  }
  mapped
  expect_status 0
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] * 3'
  # A box that is wider than its swizzle is one that the driver refuses.
  sed -i 's/"swizzle": 128/"swizzle": 32/' "$TMP/mapped.json"
  mapped
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["skipped"] * 3'
  expect_json "$TMP/r.json" 'all("refuses a tensor map" in r["reason"] for r in d["results"])'
}
