# --load kernel.json: kernels that something else compiled. What needs a GPU is in tests/gpu/manifest.bats.
load ../helper

setup() {
  cp tests/data/plain_attention.json "$TMP/plain.json"
  : >"$TMP/plain.cubin"
}

@test "a manifest is a variant: listed, planned without a GPU, diagnosed, next to objects and ours" {
  expect_valid results/kernel.schema.json "$TMP/plain.json"
  must 0 attn plan --shape B=2,H=4/2,S=65x128,D=64 --shape B=1,H=4,S=8192,D=64 --shape B=1,H=1,S=64,D=80 --gpu h200 \
    --load "$TMP/plain.json" --variants plain,scalar --json "$TMP/r.json"
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" '[(r["status"], r["variant"]) for r in d["results"]][::2] == [("planned", "plain"), ("skipped", "plain"), ("skipped", "plain")]'
  expect_json "$TMP/r.json" 'd["results"][0]["launches"][0]["grid"] == [65, 8, 1] and d["results"][0]["launches"][0]["block"] == [32, 1, 1]'
  expect_json "$TMP/r.json" 'd["results"][0]["launches"][0]["axis_covers"] == ["Q", "B*H", "-"]'
  expect_json "$TMP/r.json" '"at most 4096" in d["results"][2]["reason"] and d["results"][4]["reason"].startswith("D is none")'
  must 0 attn list --load "$TMP/plain.json"
  expect_out "f16; D 64; full and causal; compute capability 9.0"
  attn plan --shape B=1,H=4,S=64,D=64 --gpu a100 --load "$TMP/plain.json" --variants plain --json -
  expect_json "$OUT" '"compute capability" in d["results"][0]["reason"]'
}

@test "tensor maps are arguments of a manifest: valid by the schema, planned, and refused where no copy has such a box" {
  cp tests/data/tma_attention.json "$TMP/mapped.json"
  : >"$TMP/mapped.cubin"
  expect_valid results/kernel.schema.json "$TMP/mapped.json"
  must 0 attn plan --shape B=2,H=4/2,S=65x129,D=64 --gpu h200 --load "$TMP/mapped.json" --variants mapped --json -
  expect_json "$OUT" 'd["results"][0]["status"] == "planned" and d["results"][0]["launches"][0]["grid"] == [65, 8, 1]'
  sed -i 's/"KEYS": 32/"KEYS": 257/' "$TMP/mapped.json"
  attn plan --shape B=1,H=1,S=64,D=64 --gpu h200 --load "$TMP/mapped.json" --variants mapped --json -
  expect_json "$OUT" '"the box of a tensor map" in d["results"][0]["reason"]'
  sed -i 's/"swizzle": 128/"swizzle": 48/' "$TMP/mapped.json"
  must 7 attn plan --shape B=1,H=1,S=64,D=64 --gpu h200 --load "$TMP/mapped.json"
  expect_err 'arguments[1].swizzle is 48; give the bytes of the swizzle'
  refute_valid results/kernel.schema.json "$TMP/mapped.json"
}

@test "without axis_covers a kernel is planned and not advised" {
  "$ATTN_PYTHON" - "$TMP/plain.json" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
del m["tile_q"], m["tile_kv"], m["launches"][0]["axis_covers"], m["launches"][0]["row_threads"]
json.dump(m, open(sys.argv[1], "w"))
PY
  expect_valid results/kernel.schema.json "$TMP/plain.json"
  must 0 attn plan --shape B=1,H=1,S=64,D=64 --gpu h200 --load "$TMP/plain.json" --json -
  expect_json "$OUT" 'd["results"][0]["launches"][0]["axis_covers"] == ["?"] * 3 and d["results"][0]["findings"] == []'
}

@test "what is wrong with a manifest is said with file, line and key; nothing is measured" {
  sed -i 's/"plain.cubin"/"..\/plain.cubin"/' "$TMP/plain.json"
  expect_refusal 7 "plain.json:16:15: launches[0].file is \"../plain.cubin\"" -- plan --shape B=1,H=1,S=64,D=64 --gpu h200 --load "$TMP/plain.json"
  cp tests/data/plain_attention.json "$TMP/plain.json"
  rm "$TMP/plain.cubin"
  expect_refusal 7 "no such file beside this one" -- list --load "$TMP/plain.json"
  expect_refusal 2 "No such file" -- list --load "$TMP/none.json"
}

@test "a launch that no GPU takes is an error of its own cells" {
  : >"$TMP/plain.cubin"
  sed -i 's/"block": "WARP"/"block": 2048/' "$TMP/plain.json"
  must 4 attn plan --shape B=1,H=1,S=64,D=64 --gpu h200 --load "$TMP/plain.json" --variants plain,scalar --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["error", "planned"] and "threads of a block" in d["results"][0]["reason"]'
}

@test "two manifests of one name are refused" {
  cp "$TMP/plain.json" "$TMP/again.json"
  expect_refusal 2 "there is a variant plain already" -- list --load "$TMP/plain.json" --load "$TMP/again.json"
}
