load helper

setup() { need_gpu; }

@test "every variant matches the oracle over ragged, causal, GQA, bf16 and fp32 shapes" {
  must 0 attn --sweep tests/data/sweeps/correctness.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok", "skipped"}'
  expect_json "$TMP/r.json" 'd["summary"]["ok"] >= 1500'
  # A skip is about the dtype or the head dimension, never about a length, a mask or a head group; rungs of a ladder
  # are compiled for fewer of both.
  expect_json "$TMP/r.json" 'all(r["shape"]["dtype"] == "f32" or r["shape"]["D"] not in (64, 128)
    or ":" in r["variant"] and ("need f16" in r["reason"] or "no kernel is compiled" in r["reason"])
    for r in d["results"] if r["status"] == "skipped")'
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} == {r["variant"] for r in d["results"] if r["status"] == "ok"}'
  # The portable and the Hopper kernel take every D from 64 to 256 that they promise.
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"] if r["status"] == "ok" and r["shape"]["D"] == 256}
    >= {"mma_swizzle", "wgmma"}'
  expect_json "$TMP/r.json" 'all(r["check"]["oracle"]["rows_verified"] > 0 for r in d["results"] if r["check"])'
}

@test "a causal mask may end at any place of a tile of keys" {
  must 0 attn --sweep tests/data/sweeps/edges.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] >= 1800'
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} == {r["variant"] for r in d["results"] if r["status"] == "ok"}'
}

@test "random shapes: every variant that takes one is right (ATTN_SEED draws others)" {
  python tests/data/random_sweep.py "${ATTN_SEED:-11}" 300 plain >"$TMP/random.json"
  must 0 attn --sweep "$TMP/random.json" --device cuda --check-only --json "$TMP/r.json" --variants "auto,serial,scalar,scalar_quad,\
wmma,wmma_qk,cp_async,mma_swizzle,mma_swizzle:stages=1,wgmma,wgmma:persistent=0,wgmma:warpgroups=1,wgmma_general,wgmma_paged,cluster_split,\
cluster_split:wgmma=1,cluster_split:groups=1,decode,decode:path=1,decode:splits=7,\
decode_general,decode_general:warps=2,blocks=2,split_kv,split_kv_atomic,one_query"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok", "skipped"} and d["summary"]["ok"] >= 1500'
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} == {r["variant"] for r in d["results"] if r["status"] == "ok"}'
}

@test "what writes the log-sum-exp writes the right one, and every other variant is skipped with that reason" {
  must 0 attn --sweep tests/data/sweeps/lse.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok", "skipped"} and d["summary"]["ok"] >= 900'
  expect_json "$TMP/r.json" '{r["variant"] for r in d["results"]} - {r["variant"] for r in d["results"] if r["status"] == "ok"} == {"wmma"}'
  expect_json "$TMP/r.json" 'all("lse must be false" in r["reason"] for r in d["results"] if r["variant"] == "wmma")'
  expect_json "$TMP/r.json" 'all(r["check"]["lse"]["rows"] == r["shape"]["B"] * r["shape"]["Hq"] * r["shape"]["Sq"]
    for r in d["results"] if r["status"] == "ok")'
}

@test "windows, head dimensions of V, soft caps, sinks, layouts and ragged batches are right in every variant that takes them" {
  local example
  example=$(dirname "$ATTNBENCH")/example.so
  [ -f "$example" ] || example=$(make -s print-BUILD)/example.so
  must 0 attn --sweep tests/data/sweeps/axes.json --load "$example" --variants serial,scalar,wgmma,wgmma_general,wgmma_paged,cudnn,example_warp \
    --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok", "skipped"}'
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"] if r["variant"] in ("serial", "scalar", "example_warp"))'
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" or "must be" in r["reason"] for r in d["results"] if r["variant"] == "wgmma")'
  expect_json "$TMP/r.json" 'all(any(r["status"] == "ok" and r["variant"] == "wgmma_general" and axis in r["shape"] for r in d["results"])
    for axis in ("window", "Dv", "softcap", "sink", "layout", "batch", "sparse"))'
  expect_json "$TMP/r.json" 'all(any(r["status"] == "ok" and r["variant"] == "cudnn" and axis in r["shape"] for r in d["results"]) for axis in ("window", "Dv", "layout"))'
}

@test "every kernel of wgmma_general that tunables reach is right, lists of blocks among its problems" {
  local tunables dim capped
  for tunables in 64:warpgroups=4 64:warpgroups=2 64:warpgroups=1 64:persistent=0 128:kv_tile=64,warpgroups=2 128:kv_tile=128 128:warpgroups=3 256:persistent=0; do
    dim=${tunables%%:*}
    must 0 attn --device cuda --check-only --json "$TMP/r.json" --variants "wgmma_general:${tunables#*:}" \
      --shape "B=2,H=32/8,S=3000,D=$dim,bf16,window=1023:0,lse" --shape "B=1,H=16,S=2000x3333,D=$dim,bf16,causal,softcap=20" \
      --shape "batch=q3000s3000_20q70s200_q1s4000,H=32/8,D=$dim,bf16,causal,lse" --shape "B=2,H=8,S=3000,D=$dim,bf16,causal,lse,sparse=256:0.3"
    case $tunables in
      64:warpgroups=1 | 128:kv_tile=64,*) capped=skipped ;; # no kernel with soft caps
      *) capped=ok ;;
    esac
    expect_json "$TMP/r.json" "[r['status'] for r in d['results'][:3]] == ['ok', '$capped', 'ok'] and d['results'][3]['status'] in ('ok', 'skipped')"
  done
  attn --sweep sparse --filter 'Skv<=16384' --device cuda --check-only --variants wgmma_general --json "$TMP/r.json"
  expect_status 0
  expect_json "$TMP/r.json" 'sum(r["status"] == "ok" for r in d["results"]) >= 15'
}

@test "e4m3 with its scales is right in every variant that takes it, and no other takes it" {
  attn --sweep tests/data/sweeps/axes_e4m3.json --variants serial,scalar,wgmma_fp8,wgmma_fp8:transpose_pass=0,wgmma_fp8:transpose_pass=1,wgmma_fp8:splits=1,wgmma_fp8:splits=3 --device cuda --check-only --json "$TMP/r.json"
  expect_status 0
  # serial and scalar take no head dimension beyond 128.
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" or r["shape"]["D"] > 128 for r in d["results"] if r["variant"] in ("serial", "scalar"))'
  expect_json "$TMP/r.json" 'len(d["results"]) > 400'
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} <= {"ok", "skipped"}'
  for variant in wgmma_fp8 wgmma_fp8:transpose_pass=0 wgmma_fp8:transpose_pass=1 wgmma_fp8:splits=1 wgmma_fp8:splits=3; do
    expect_json "$TMP/r.json" "sum(r['status'] == 'ok' for r in d['results'] if r['variant'] == '$variant') > 100"
  done
  expect_json "$TMP/r.json" 'all(0 < r["check"]["oracle"]["quantisation_rmse"] <= r["check"]["oracle"]["quantisation_max"]
    for r in d["results"] if r["status"] == "ok")'
  attn --shape B=1,H=2,S=512,D=64,e4m3 --device cuda --check-only --variants wgmma,mma_swizzle,cudnn --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "skipped" and ("dtype must be" in r["reason"] or "e4m3 needs" in r["reason"]) for r in d["results"])'
}

@test "wgmma_fp8 is right where a few queries see very many keys, whose parts it merges" {
  must 0 attn --device cuda --check-only --json "$TMP/r.json" --variants wgmma_fp8,wgmma_fp8:splits=255,wgmma_fp8:splits=7,persistent=0 \
    --shape B=1,H=4,S=128x131072,D=128,e4m3 --shape B=1,H=2/1,S=100x65537,D=64,e4m3,causal,lse,sink \
    --shape B=1,H=4,S=130x20000,D=256,e4m3,scales=block:128,lse --shape B=1,H=3,S=300x9999,D=96,e4m3,out_dtype=f16,window=5000:0,softcap=20
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] * 12'
  expect_json "$TMP/r.json" 'all(r["plan"]["splits"] > 1 for r in d["results"])'
}

@test "decoding as it is served is right on small cases, that of latent attention too" {
  local example sweep
  example=$(dirname "$ATTNBENCH")/example.so
  for sweep in "paged scalar,decode_general,example_warp" "serving scalar,decode_general,wgmma_paged,example_warp" "kv8 scalar,decode_general" "mla_decode mla,example_warp"; do
    attn --sweep "${sweep% *}" --filter 'Skv<=300' --load "$example" --variants "${sweep#* }" --device cuda --check-only --json "$TMP/r.json"
    expect_status 0
    expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok"} and len(d["results"]) >= 6'
  done
}

@test "random problems over all axes at once are right in every variant that takes them" {
  local seed=$RANDOM
  echo "tests/data/random_sweep.py $seed 1500"
  python tests/data/random_sweep.py "$seed" 1500 >"$TMP/s.json"
  must 0 attn --sweep "$TMP/s.json" --variants serial,scalar,wgmma,wgmma_general,wgmma_paged,wgmma_fp8,wgmma_fp8:transpose_pass=1,wgmma_fp8:splits=3,decode_general,decode_general:warps=2,blocks=3,mla,cudnn --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok", "skipped"}'
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"] if r["variant"] in ("serial", "scalar"))'
}

@test "one_query and every tile of d_split match the oracle up to D = 8192" {
  must 0 attn --sweep tests/data/sweeps/large_d_correctness.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] >= 540'
  # A skip is a tile or a cluster that this GPU has no room for, more keys than a path takes, or 3xTF32 of another type,
  # never the default.
  expect_json "$TMP/r.json" 'all(":" in r["variant"] and ("shared memory" in r["reason"] or
    "path=2" in r["variant"] and "compute capability" in r["reason"] or
    ("path=3" in r["variant"] or "tf32x3" in r["variant"]) and "path=3 needs" in r["reason"] or
    "tf32x3" in r["variant"] and r["shape"]["dtype"] != "f32" and "tf32x3=1 is for f32" in r["reason"])
    for r in d["results"] if r["status"] == "skipped")'
  # fp32 keeps fp32's precision, as 3xTF32 does: TF32 would show about 1e-3.
  expect_json "$TMP/r.json" 'all(r["check"]["rel_frobenius"] < 4e-6
    for r in d["results"] if r["check"] and r["shape"]["dtype"] == "f32")'
}

@test "decode matches the oracle however the keys are cut and the splits meet" {
  must 0 attn --sweep tests/data/sweeps/decode_correctness.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] >= 1400'
  # A skip is the path that needs compute capability 9.0, asked for elsewhere.
  expect_json "$TMP/r.json" 'all("path=2" in r["variant"] and "path=2 needs" in r["reason"]
    for r in d["results"] if r["status"] == "skipped")'
}

@test "decode matches the oracle for pages of every size, and with last pages that are full, nearly full and nearly empty" {
  must 0 attn --sweep tests/data/sweeps/decode_pages.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok"} or
    all("pages need compute capability 9.0" in r["reason"] for r in d["results"])'
}

@test "decode_general matches the oracle for every kind of page, length and cut of the keys, and as one launch after another" {
  must 0 attn --sweep tests/data/sweeps/emulated_decode.json --device cuda --check-only --json "$TMP/r.json" --variants "decode_general,\
decode_general:warps=8,stages=2,decode_general:warps=1,stages=8,blocks=3,decode_general:warps=4,item_cost=20,decode_general:blocks=4"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} <= {"ok", "skipped"} and d["summary"]["ok"] >= 300'
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"] if r["variant"] == "decode_general")'
}

@test "wgmma_paged matches the oracle for pages, prefills beside decodes, and heads that share a tile" {
  must 0 attn --sweep tests/data/sweeps/emulated_paged.json --device cuda --check-only --json "$TMP/r.json" \
    --variants wgmma_paged,wgmma_paged:packed=0,wgmma_paged:persistent=0
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok"} and d["summary"]["ok"] == 135'
}

@test "decode_general matches the oracle with K and V of e4m3, and at D of 256" {
  must 0 attn --sweep tests/data/sweeps/emulated_decode_e4m3.json --device cuda --check-only --json "$TMP/r.json" \
    --variants "decode_general,decode_general:warps=4,stages=2,decode_general:blocks=2,item_cost=20"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} <= {"ok", "skipped"} and d["summary"]["ok"] >= 60'
  # What is skipped has no room for two blocks on an SM, or a GPU that converts no e4m3.
  expect_json "$TMP/r.json" 'all("shared memory" in r["reason"] or "8.9" in r["reason"] for r in d["results"] if r["status"] == "skipped")'
}

@test "mla matches the oracle for every kind of page, length and cut of the keys, and as one launch after another" {
  must 0 attn --sweep tests/data/sweeps/emulated_mla.json --device cuda --check-only --json "$TMP/r.json" --variants "mla,mla:shares=2,mla:shares=2,cluster=1,\
mla:cluster=2,mla:item_cost=20,mla:kv_tile=64,mla:team=1"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"] if r["variant"] == "mla")'
}

@test "two runs of decode_general give the same error to the last bit" {
  for _ in 1 2; do
    must 0 attn --sweep serving --device cuda --check-only --variants decode_general --filter "Skv<=4096" --json -
    json "$OUT" '[(r["check"]["max_abs_error"], r["check"]["rel_frobenius"]) for r in d["results"]]' >>"$TMP/errors"
  done
  [ "$(sort -u "$TMP/errors" | wc -l)" -eq 1 ] || fail "$(cat "$TMP/errors")"
}

@test "two runs of decode give the same error to the last bit" {
  for _ in 1 2; do
    must 0 attn --sweep decode --device cuda --check-only --variants decode,decode:splits=100 --filter "Skv<=4096" --json -
    json "$OUT" '[(r["check"]["max_abs_error"], r["check"]["rel_frobenius"]) for r in d["results"]]' >>"$TMP/errors"
  done
  [ "$(sort -u "$TMP/errors" | wc -l)" -eq 1 ] || fail "$(cat "$TMP/errors")"
}

@test "two runs of d_split give the same error to the last bit" {
  for _ in 1 2; do
    must 0 attn --sweep shapes/large_d.json --device cuda --check-only --variants d_split,d_split:path=1,d_split:path=3 --json -
    json "$OUT" '[(r["check"]["max_abs_error"], r["check"]["rel_frobenius"]) for r in d["results"]]' >>"$TMP/errors"
  done
  [ "$(sort -u "$TMP/errors" | wc -l)" -eq 1 ] || fail "$(cat "$TMP/errors")"
}

@test "fp16 at S=512 keeps within a largest difference of 0.002" {
  must 0 attn --sweep shapes/n6.json --device cuda --check-only --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["check"]["max_abs_error"] < 0.002 for r in d["results"] if r["check"])'
}

@test "two runs of split_kv give the same error to the last bit" {
  for _ in 1 2; do
    must 0 attn --sweep shapes/mission.json --device cuda --check-only --variants split_kv:splits=4 --json -
    json "$OUT" '[(r["check"]["max_abs_error"], r["check"]["rel_frobenius"]) for r in d["results"]]' >>"$TMP/errors"
  done
  [ "$(sort -u "$TMP/errors" | wc -l)" -eq 1 ] || fail "$(cat "$TMP/errors")"
}

@test "what is planned is what is launched: geometry, registers and occupancy of a plan match the run" {
  must 0 attn --sweep shapes/mission.json --device cuda --check-only --json "$TMP/run.json"
  expect_json "$TMP/run.json" 'd["device"]["name"] == "NVIDIA H200"' 2>/dev/null || skip "the plan to compare is for an H200"
  attn plan --sweep shapes/mission.json --gpu h200 --json "$TMP/plan.json"
  python - "$TMP/run.json" "$TMP/plan.json" <<'PY'
import json, sys
keys = ("name", "grid", "block", "cluster", "dynamic_smem_bytes", "static_smem_bytes", "registers", "local_bytes",
        "resident_blocks", "limited_by", "waves", "kernel")
run, plan = ({(r["key"], r["variant"]): [[l[k] for k in keys] for l in r["launches"]] for r in
              json.load(open(p))["results"] if r["launches"] and r["variant"] != "cudnn"} for p in sys.argv[1:])
assert run and run.keys() == plan.keys()
for cell in run:
    assert run[cell] == plan[cell], (cell, run[cell], plan[cell])
PY
}

@test "planted faults of GPU kernels are caught, and cost their own cells only" {
  for fault in skip_head last_tile mask_off_by_one missing_merge redzone; do
    must 3 attn_faulty --sweep tests/data/sweeps/tiny.json --device cuda --check-only --variants "gpu_fault_$fault,wmma" \
      --json "$TMP/r.json"
    expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["wrong", "ok"] * 2'
  done
  must 3 attn_faulty --sweep tests/data/sweeps/tiny.json --device cuda --filter causal=false --variants gpu_fault_stale \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["results"][0]["status"] == "wrong"'
  for fault in illegal trap; do
    must 4 attn_faulty --sweep tests/data/sweeps/tiny.json --device cuda --check-only --variants "gpu_fault_$fault,wmma" \
      --json "$TMP/r.json"
    expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["error", "ok"] * 2'
    expect_json "$TMP/r.json" '"cudaError" in d["results"][0]["reason"]'
  done
}

@test "a kernel that never ends is stopped at its deadline and costs its own cell" {
  must 4 attn_faulty --sweep tests/data/sweeps/tiny.json --device cuda --check-only --filter causal=true --timeout 3 \
    --variants gpu_fault_hang,wmma --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["timeout", "ok"]'
}

@test "a worker killed with -9 in the middle of a sweep costs one cell" {
  "$ATTNBENCH" --sweep shapes/v3.json --device cuda --variants serial,wmma --json "$TMP/r.json" --journal "$TMP/r.journal" &
  local run=$!
  for _ in $(seq 200); do
    ! grep -q '"cell"' "$TMP/r.journal" 2>/dev/null || break
    sleep 0.1
  done
  kill -9 "$(children_of "$run")"
  status=0
  wait "$run" || status=$?
  expect_status 4
  expect_json "$TMP/r.json" 'sorted(r["status"] for r in d["results"]) == ["crashed"] + ["ok"] * 5'
  expect_json "$TMP/r.json" 'all("signal 9" in r["reason"] for r in d["results"] if r["status"] == "crashed")'
}

@test "growing maxima slow no variant down by more than 15 %, and every row says by how much" {
  must 0 attn --sweep shapes/v3.json --device cuda --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'not [(r["variant"], r["key"], r.get("data_dependence_ratio")) for r in d["results"]
    if r["status"] == "ok" and not 0.9 < r.get("data_dependence_ratio", 0) < 1.15]'
  expect_json "$TMP/r.json" 'all(r["check"]["evidence"]["changed_us"] is not None for r in d["results"] if r["status"] == "ok")'
}

@test "two launches at once, in two streams, are right where blocks of a launch wait for or count each other" {
  local build
  build=$(dirname "$ATTNBENCH")
  need_tool nvcc
  [ -d "$build/kernels/variants" ] || skip "no objects beside $ATTNBENCH"
  gcc -std=c11 -D_GNU_SOURCE -pthread -I. -c tests/gpu/streams.c -o "$TMP/streams.o"
  nvcc -o "$TMP/streams" "$TMP/streams.o" $(find "$build/kernels" -name '*.o' ! -path '*/example/*') "$build/gen/kernel_resources.o" -ldl -lpthread -lm
  must 0 capture timeout 300 "$TMP/streams" cuda:0
  [ "$(grep -c '^right' "$OUT")" -ge 6 ] || fail "$(cat "$OUT")"
}
