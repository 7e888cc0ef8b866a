load helper

setup() { need_gpu; }

sanitize() {
  need_tool compute-sanitizer
  capture compute-sanitizer --tool "$1" --target-processes all --error-exitcode 99 --log-file "$TMP/sanitizer.%p" \
    "$ATTNBENCH" --sweep tests/data/sweeps/sanitize.json --device cuda --check-only --timeout 600 --json "$TMP/r.json"
  expect_status 0
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok", "skipped"}'
  # The worker's log, not only the parent's, must end without errors.
  grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' "$TMP"/sanitizer.* >"$TMP/summaries" || fail "the tool saw no CUDA program"
  ! grep -v ' 0 \(errors\|hazards\)' "$TMP/summaries" || fail "$(cat "$TMP"/sanitizer.*)"
}

@test "compute-sanitizer memcheck is clean on a small sweep of all variants" { sanitize memcheck; }
@test "compute-sanitizer racecheck is clean on a small sweep of all variants" { sanitize racecheck; }

@test "nsys sees the NVTX ranges and the same kernel durations" {
  need_tool nsys
  capture scripts/proof/timer_truth.py --tools nsys --attnbench "$ATTNBENCH" --sweep shapes/v3.json --json "$TMP/timer.json"
  expect_status 0
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
  capture scripts/profile_sweep.py --tool ncu --launches 2 --attnbench "$ATTNBENCH" --sweep tests/data/sweeps/tiny.json \
    --json "$TMP/r.json" --csv "$TMP/r.csv"
  expect_status 0
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["counters"] for r in d["results"] if r["status"] == "ok")'
}

@test "ncu counts what attnbench says, or a named rule explains it" {
  need_counters
  capture scripts/proof/check_against_ncu.py --attnbench "$ATTNBENCH" --sweep shapes/v3.json --json "$TMP/counters.json"
  expect_status 0
  expect_json "$TMP/counters.json" 'd["unexplained"] == 0 and len(d["comparisons"]) > 100'
}
