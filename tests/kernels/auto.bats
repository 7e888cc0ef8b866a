# tags: slow asan
load ../helper

@test "auto's picks are within 2 % of the fastest variant in every committed journal, with wgmma and without" {
  for gpu in h200 a100; do
    must 0 capture python scripts/proof/check_auto.py --attnbench "$ATTNBENCH" --gpu "$gpu"
    expect_out_matches '^([0-9]+) of \1 picks are within 2 %'
  done
  must 0 capture python scripts/proof/check_auto.py --attnbench "$ATTNBENCH" --gpu h100 results/h100/*.journal
  expect_out_matches '^156 of 156 picks are within 2 %'
}

@test "check_auto says which pick loses, and that no pick was measured" {
  must 1 capture python scripts/proof/check_auto.py --attnbench "$ATTNBENCH" --bar 0.1 results/h200/scalar_ladder.journal
  expect_out 'scalar_quad:vec=1 | 634.9 |'
  expect_out '0.2 % behind scalar_quad:vec=1,bounds=1'
  must 4 capture python scripts/proof/check_auto.py --attnbench "$ATTNBENCH" results/h200/mma_ladder.journal
  expect_err 'none of the picks for h200 was measured'
}

@test "list and describe say what auto picks from, and why" {
  must 0 attn list auto
  expect_out_matches 'picks the first of these that takes the shape; table [0-9]+, measured on'
  expect_out 'scalar_quad:vec=1: CUDA cores, a full GPU'
  refute_out 'one block per query row'
  attn list --json auto wmma
  expect_json "$OUT" '[v["name"] for v in d["variants"]] == ["auto", "wmma"]'
  expect_json "$OUT" 'd["variants"][0]["runs_on"] == "any" and "wgmma" in [r["variant"] for r in
    d["variants"][0]["picks"]["rules"]] and "picks" not in d["variants"][1]'
  expect_refusal 2 'did you mean "auto"?' -- list autp
  attn describe auto
  expect_out 'picks    wgmma: compute capability 9.0'
}

@test "a row of auto has the plan of what it picked, and says so in every form" {
  must 0 attn plan --shape B=1,H=8,S=512,D=64 --shape B=1,H=4,S=64,D=2048,f32 --gpu a100 --variants auto,mma_swizzle,d_split \
    --json "$TMP/p.json"
  expect_out 'auto (mma_swizzle)'
  expect_out 'auto = d_split in 1 case: D of 256 and more'
  expect_valid results/report.schema.json "$TMP/p.json"
  expect_json "$TMP/p.json" '[(r["picked"], r["math"]) for r in d["results"] if r["variant"] == "auto"] ==
    [("mma_swizzle", "tensor"), ("d_split", "fp32")]'
  expect_json "$TMP/p.json" 'all(r["launches"] == o["launches"] and r["plan"] == o["plan"] for r in d["results"]
    for o in d["results"] if r["key"] == o["key"] and o["variant"] == r.get("picked"))'
}

@test "auto takes a sweep's tunings of what it picks, and of nothing else" {
  sweep=$(write_file tuned.json '{"attnbench_sweep": 1, "name": "t", "grid": [{"B": 1, "H": 8, "S": [512, 640, 768], "D": 64}],
    "tuned": [{"case": "B1.H8.S512.D64.f16.full", "variant": "mma_swizzle:stages=3"},
              {"case": "B1.H8.S640.D64.f16.full", "variant": "cp_async:stages=3"}]}')
  must 0 attn plan --sweep "$sweep" --gpu a100 --variants auto,mma_swizzle:stages=3 --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["picked"] for r in d["results"] if r["variant"] == "auto"] ==
    ["mma_swizzle:stages=3", "mma_swizzle", "mma_swizzle"]'
  expect_json "$TMP/p.json" '"the sweep" in d["results"][0]["picked_why"] and "the sweep" not in d["results"][2]["picked_why"]'
  expect_json "$TMP/p.json" 'd["results"][0]["launches"] == d["results"][1]["launches"] and d["results"][0]["plan"]["stages"] == 3'
}

@test "auto runs on the CPU too, keeps its pick in the journal, and is not in the groups" {
  must 0 attn --shape B=1,H=2,S=24,D=64 --device cpu --variants auto,cpu_flash --quick --journal "$TMP/j" --json "$TMP/r.json"
  expect_out 'auto (cpu_flash)'
  refute_out 'fastest: auto'
  attn report "$TMP/j" --json "$TMP/again.json" --html "$TMP/page.html"
  grep -q 'auto</span> <small>cpu_flash</small>' "$TMP/page.html" || fail "the page does not say what was picked"
  for report in r again; do
    expect_json "$TMP/$report.json" '[r.get("picked") for r in d["results"]] == ["cpu_flash", None]'
  done
  attn plan --sweep v3 --gpu h200 --variants all --quiet --json "$TMP/all.json"
  expect_json "$TMP/all.json" '"auto" not in {r["variant"] for r in d["results"]}'
}

@test "auto takes the kernel of tensor cores that there is for windows, lengths, pages and e4m3" {
  attn plan --gpu h200 --variants auto --shape B=1,S=512,H=8,D=64,window=100:0 --shape B=8,H=16,S=512,D=128,batch=ragged:1 \
    --shape B=4,H=32/8,S=1x512,D=128,page=16 --shape B=1,S=512,H=8,D=64,e4m3 --shape B=1,S=16,H=2,D=64,sparse=32:0.5 \
    --shape B=4,H=32/8,S=1x512,D=128,bf16,kv_dtype=e4m3 --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["picked"] for r in d["results"]] == ["wgmma_general", "wgmma_general", "decode", "wgmma_fp8", "scalar", "decode_general"]'
  attn plan --gpu a100 --variants auto --shape B=4,H=32/8,S=100x512,D=128,page=16 --shape B=4,H=8,S=512,D=128 --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["picked"] for r in d["results"]] == ["decode_general", "mma_swizzle"]'
}
