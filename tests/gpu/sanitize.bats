# compute-sanitizer's tools over every variant on ragged shapes. make sanitize-gpu runs this file alone.
load helper

setup() { need_gpu; }

# tool_run TOOL SWEEP LEAST OPTIONS...: the worker's log, not only the parent's, must end without errors, and the cells
# must be right, at least so many of them.
tool_run() {
  must 0 capture compute-sanitizer --tool "$1" --target-processes all --error-exitcode 99 --log-file "$TMP/$2.%p" \
    "$ATTNBENCH" --sweep "tests/data/sweeps/$2.json" --device cuda --check-only --timeout 600 --json "$TMP/r.json" "${@:4}"
  expect_json "$TMP/r.json" "{r['status'] for r in d['results']} <= {'ok', 'skipped'} and d['summary']['ok'] >= $3"
  grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' "$TMP/$2".* >"$TMP/summaries" || fail "the tool saw no CUDA program"
  ! grep -v ' 0 \(errors\|hazards\)' "$TMP/summaries" || fail "$(cat "$TMP/$2".*)"
}

sanitize() {
  need_tool compute-sanitizer
  tool_run "$1" sanitize 150
  tool_run "$1" sanitize_decode 25
  # racecheck does not know barrier.arrive: it reports hazards in the PTX manual's own example of a producer and a
  # consumer. mla hands weights from one warpgroup to the other in that way.
  if [ "$1" = racecheck ]; then
    tool_run "$1" sanitize_axes 67 --variants serial,scalar,wgmma_general,wgmma_paged,wgmma_fp8,wgmma_fp8:transpose_pass=1,wgmma_fp8:splits=3,decode_general
  else
    tool_run "$1" sanitize_axes 71
  fi
}

@test "compute-sanitizer memcheck finds nothing in any variant" { sanitize memcheck; }
@test "compute-sanitizer racecheck finds nothing in any variant" { sanitize racecheck; }
@test "compute-sanitizer initcheck finds nothing in any variant" { sanitize initcheck; }
@test "compute-sanitizer synccheck finds nothing in any variant" { sanitize synccheck; }
