load helper

setup() { need_gpu; }

@test "nsys sees the NVTX ranges and the same kernel durations" {
  need_tool nsys
  must 0 capture scripts/proof/timer_truth.py --tools nsys --attnbench "$ATTNBENCH" --sweep shapes/v3.json --json "$TMP/timer.json"
  expect_json "$TMP/timer.json" '[row[4] for row in d["rows"]] == [0, 0] and all(row[1] > 0 for row in d["rows"])'
}

# A machine whose users may not read the counters cannot run these.
need_counters() {
  need_tool ncu
  capture scripts/profile_sweep.py --tool ncu --attnbench "$ATTNBENCH" --sweep tests/data/sweeps/tiny.json --variants scalar \
    --counters "$TMP/try.json"
  [ "$status" -eq 0 ] || ! grep -q ERR_NVGPUCTRPERM "$ERR" || skip "no permission to read the GPU's counters"
  expect_status 0
}

@test "ncu's counters reach every cell's row" {
  need_counters
  must 0 capture scripts/profile_sweep.py --tool ncu --launches 2 --attnbench "$ATTNBENCH" --sweep tests/data/sweeps/tiny.json \
    --json "$TMP/r.json" --csv "$TMP/r.csv"
  expect_json "$TMP/r.json" 'all(r["counters"] for r in d["results"] if r["status"] == "ok")'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "ncu counts what attnbench says, or a named rule explains it" {
  need_counters
  must 0 capture scripts/proof/check_against_ncu.py --attnbench "$ATTNBENCH" --sweep shapes/v3.json --json "$TMP/counters.json"
  expect_json "$TMP/counters.json" 'd["unexplained"] == 0 and len(d["comparisons"]) > 100'
}
