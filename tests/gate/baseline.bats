# tags: slow asan
# --baseline and gate --selftest: a run that is held against a report, and processes that say how often a gate is wrong.
load steady

@test "a baseline's second measurement that is interrupted keeps the first" {
  baseline 600
  mkdir "$TMP/t"
  hold_at 7
  TMPDIR=$TMP/t STEADY_US=3600 env --default-signal=INT "$ATTNBENCH" --sweep "$SWEEP" --device cpu --load "$STEADY" --quick \
    "${COMMON[@]}" --baseline "$TMP/baseline-600.json" >"$OUT" 2>"$ERR" &
  interrupt $!
  journal=$(sed -n 's/.*kept: attnbench report //p' "$ERR")
  must 0 attn report "$journal" --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["processes"]["hot"]["count"] for r in d["results"]] == [5]'
}

@test "a run slower than its baseline is exit 1, measured twice; a faster one passes" {
  local old
  old=$(baseline 100)
  must 1 against "$old" --json "$TMP/new.json" --journal "$TMP/j"
  expect_out regressed
  expect_json "$TMP/new.json" '[r["processes"]["hot"]["count"] for r in d["results"]] == [5]'
  [ "$(grep -c '^{"again":' "$TMP/j.again1")" -eq 4 ]
  old=$(baseline 1900)
  must 0 against "$old"
  expect_out improved
}

@test "a report that cannot be written does not cost the comparison" {
  [ -e /dev/full ] || skip "no /dev/full here"
  local old
  old=$(baseline 1900)
  must 8 against "$old" --json /dev/full --markdown "$TMP/gate.md" --journal "$TMP/j"
  expect_err "results so far are kept: attnbench report $TMP/j"
  expect_out improved
  grep -q improved "$TMP/gate.md"
}

@test "a baseline that cannot be one costs no measuring" {
  old=$(baseline 300)
  must 7 against "$TMP/none.json"
  expect_no_out
  python - "$old" <<'PY' >"$TMP/single.json"
import json, sys
d = json.load(open(sys.argv[1]))
for r in d["results"]:
    del r["processes"]
print(json.dumps(d))
PY
  drop_checksums "$TMP/single.json"
  must 6 against "$TMP/single.json"
  expect_err "$TMP/single.json"
  expect_no_out
  export STEADY_FILE=$TMP/n
  must 2 against "$old" --threshold-for '*/stedy=5'
  expect_err '"*/stedy" matches no cell; a glob matches KEY/VARIANT, such as "B1.H2'
  [ ! -e "$TMP/n" ] || fail "it was measured first"
}

@test "the self-test measures the sweep with fresh processes, and its journal gives the same rates again" {
  STEADY_FILE=$TMP/n must 0 attn gate --selftest --sweep "$SWEEP" --device cpu --load "$STEADY" --modes hot --rounds 5 \
    --processes 12 --controls 0 --journal "$TMP/j" --json "$TMP/a.json"
  [ "$(wc -c <"$TMP/n")" -eq 12 ] || fail "not twelve processes"
  expect_json "$TMP/a.json" 'd["method"]["processes"] == 12 and d["method"]["rounds"] == 5'
  expect_json "$TMP/a.json" '{c["mode"] for c in d["cases"]} == {"hot"} and d["suites"][0]["suites"] == 4000'
  must 0 attn gate --selftest --from "$TMP/j" --modes hot --rounds 5 --json -
  cmp "$TMP/a.json" "$OUT"
  expect_refusal 2 'at least 20' -- gate --selftest --sweep "$SWEEP" --rounds 10 --processes 12
  expect_refusal 2 'one of --sweep, --shape and --from' -- gate --selftest --sweep "$SWEEP" --from "$TMP/j"
  expect_refusal 2 'too many; give 10 to 64' -- gate --selftest --sweep "$SWEEP" --processes 65
}

@test "a self-test whose program was killed is resumed: only what is missing is measured" {
  local words=(gate --selftest --sweep "$SWEEP" --device cpu --load "$STEADY" --modes hot --rounds 5 --processes 10 --controls 0)
  hold_at 4
  "$ATTNBENCH" "${words[@]}" --journal "$TMP/j" --quiet &
  wait_for_hold
  kill -KILL $!
  ended $! 137
  STEADY_AT=0 must 0 attn "${words[@]}" --journal "$TMP/j" --resume --json "$TMP/a.json"
  [ "$(wc -c <"$TMP/processes")" -eq 11 ] || fail "$(wc -c <"$TMP/processes") processes, not ten and the one that was cut off"
  expect_json "$TMP/a.json" 'd["method"]["processes"] == 10'
  expect_refusal 6 'seed was 1 there and is 2 here' -- "${words[@]}" --journal "$TMP/j" --resume --seed 2
  expect_refusal 2 'need processes of one run' -- "${words[@]}" --journal "$TMP/j" --resume=anyway
  expect_refusal 2 'nothing is measured with --from' -- gate --selftest --from "$TMP/j" --journal "$TMP/other"
}

@test "a self-test that is interrupted measures nothing and says 130" {
  hold_at 3
  env --default-signal=INT "$ATTNBENCH" gate --selftest --sweep "$SWEEP" --device cpu --load "$STEADY" --json "$TMP/a.json" \
    >"$OUT" 2>"$ERR" &
  interrupt $!
  expect_no_out
  [ ! -e "$TMP/a.json" ]
}
