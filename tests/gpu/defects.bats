load helper

setup() { need_gpu; }

# run_shape SQ: the table's variants of this shape, right and measured, in $TMP/SQ.json.
run_shape() {
  must 0 attn_faulty --sweep tests/data/sweeps/defects.json --device cuda --filter "Sq=$1" --json "$TMP/$1.json" \
    --variants "$(defects_of "$1")"
  expect_json "$TMP/$1.json" '{r["status"] for r in d["results"]} == {"ok"}'
}

@test "planted defects are right over ragged and causal shapes" {
  must 0 attn_faulty --sweep tests/data/sweeps/tiny.json --device cuda --check-only --json "$TMP/r.json" \
    --variants "$(defects_table | awk '!seen[$2]++ {printf "%sgpu_defect_%s", sep, $2; sep = ","}')"
  expect_json "$TMP/r.json" 'd["summary"]["ok"] == 26'
}

# found SQ VARIANT: what a failed row is judged by: its findings, times and how near each is to its roof.
found() {
  json "$TMP/$1.json" "[[[f['id'], f['measured']] for f in r['findings']] + [r['roof'], {m: t and t['median_us']
    for m, t in r['time'].items()}] for r in d['results'] if r['variant'] == 'gpu_defect_$2']"
}

@test "every planted defect is named, and none on a kernel without it" {
  for sq in 32768 4 1 2048 1024; do run_shape "$sq"; done
  while read -r sq variant findings; do
    findings=$(printf '%s\n' "$findings" | sed 's/ *[+(][a-z_)]*//g')
    beside='latency_bound between_roofs l2_bound shared_bound clock_lowered'
    # Near the pipe's rate by large register tiles, and so at low occupancy: that may be said too.
    if [ "$findings" = compute_bound ]; then beside='registers_limit_occupancy smem_limits_occupancy clock_lowered'; fi
    expect_json "$TMP/$sq.json" "[sorted(f['id'] for f in r['findings'] if f['id'] not in '$beside'.split())
      for r in d['results'] if r['variant'] == 'gpu_defect_$variant'] == [sorted('$findings'.split())]" ||
      fail "$variant at Sq=$sq has $(found "$sq" "$variant"), wanted: $findings"
  done < <(defects_table)
  for sq in 4 1 2048; do
    expect_json "$TMP/$sq.json" 'all(f["id"] != "latency_bound" for r in d["results"] for f in r["findings"])'
  done
}

@test "a cache of e4m3 that is converted bit by bit is named, and neither its half nor its double is" {
  sweep=$(write_file caches.json '{"attnbench_sweep": 1, "name": "caches", "defaults": {"B": 132, "H": 32, "Sq": 1,
    "Skv": 1024, "D": 64}, "shapes": [{}, {"kv_dtype": "e4m3"}]}')
  must 0 attn_faulty --sweep "$sweep" --device cuda --variants gpu_defect_convert --reference none --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok"}'
  expect_json "$TMP/r.json" '[["convert_bound" in [f["id"] for f in r["findings"]] for r in d["results"]
    if (r["shape"].get("kv_dtype") == "e4m3") == narrow] for narrow in (False, True)] == [[False], [True]]'
}

@test "every timed row is told one roof, and called bound by it only near it" {
  sweep=$(write_file prefill.json '{"attnbench_sweep": 1, "name": "prefill", "shapes": [
    {"B": 2, "H": 32, "S": 2048, "D": 128}, {"B": 1, "H": 8, "S": 512, "D": 64}, {"B": 64, "H": 32, "Sq": 1, "Skv": 4096, "D": 64}]}')
  attn --sweep "$sweep" --device cuda --variants scalar_quad,wmma,mma_swizzle,split_kv --reference none --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'any(r["status"] == "ok" for r in d["results"])'
  expect_json "$TMP/r.json" 'all(sum(f["id"] in ("memory_bound", "compute_bound", "exp_bound", "l2_bound", "shared_bound",
    "between_roofs", "latency_bound", "launch_bound") for f in r["findings"]) == 1
    for r in d["results"] if r["status"] == "ok" and r["variant"] != "cudnn")'
  # The reachable roofs are at least 0.66 (mma.sync) and 0.92 (DRAM) of the peaks that "roof" is held against.
  for bound in memory:dram:0.55 compute:tensor_f16,fp32:0.39; do
    IFS=: read -r what names least <<<"$bound"
    expect_json "$TMP/r.json" "all(any(m is not None and m['ratio'] >= $least and m['name'] in '$names' for m in r['roof'].values())
      for r in d['results'] for f in r['findings'] if f['id'] == '${what}_bound')"
  done
}

@test "a report of a run, diagnosed again, is the same report" {
  must 0 attn --sweep shapes/v3.json --device cuda --json "$TMP/r.json"
  must 0 attn diagnose "$TMP/r.json" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json" || fail "the report came back different"
}
