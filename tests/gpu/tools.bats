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
  capture scripts/check_against_nsys.py --attnbench "$ATTNBENCH" --sweep shapes/v3.json --output "$TMP/nsys"
  expect_status 0
  expect_out ', 0 not'
}
