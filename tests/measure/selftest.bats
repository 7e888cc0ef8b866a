# tags: slow asan
load ../helper

@test "--selftest holds the CPU's timer against launches of known duration" {
  attn --selftest --device cpu --json "$TMP/s.json"
  # A machine with other work may fail lines, which is then said.
  [ "$status" -eq 0 ] || [ "$status" -eq 9 ] || fail "exit status $status"
  if [ "$status" -eq 0 ]; then expect_no_err; else expect_err "of 20 lines of the timer's self-test failed, first: "; fi
  expect_out_matches '^cold 20 us .* (PASS|FAIL) '
  expect_out_matches '^hot 10000 us '
  expect_out_matches '^timer tick '
  expect_out_matches '^cold and hot lines: '
  expect_out_matches '^20 checks: '
  refute_out 'event'
  expect_valid results/timer_selftest.schema.json "$TMP/s.json"
  expect_json "$TMP/s.json" "d['summary']['exit_code'] == $status"
  expect_json "$TMP/s.json" 'd["summary"]["pass"] + d["summary"]["fail"] == len(d["lines"]) == 20'
  expect_json "$TMP/s.json" 'd["summary"]["fail"] == sum(l["verdict"] == "fail" for l in d["lines"])'
  # Every line can be judged again from the numbers beside it.
  expect_json "$TMP/s.json" 'all((l["verdict"] == "pass") == ((l["low"] or 0) <= l["value"] <= (l["high"] or 1e99))
    for l in d["lines"] if l["low"] is None or l["low"] >= 0)'
  # Each spin lasted at least as long as asked, by its own clock and by the timer.
  expect_json "$TMP/s.json" 'len(d["facts"]["spins"]) == 9 and all(x["truth_us"] >= s["target_us"]
    and x["time_us"] >= x["truth_us"] - 1 for s in d["facts"]["spins"] for m in ("cold", "hot") for x in s[m]["samples"])'
}

@test "selftest as a verb is the same, and --json - leaves stdout to JSON" {
  attn selftest --device cpu --json -
  [ "$status" -eq 0 ] || [ "$status" -eq 9 ] || fail "exit status $status"
  expect_json "$OUT" 'd["schema"] == "attnbench.timer_selftest/1" and d["device"]["kind"] == "cpu"'
}

@test "the self-test takes no sweep" {
  expect_refusal 2 '--sweep: unknown option of attnbench selftest' -- --sweep shapes/v3.json --selftest
}

@test "the self-test of a GPU that is not there ends with 77" {
  if [ -e /dev/nvidia0 ]; then skip "this machine has a GPU"; fi
  expect_refusal 77 'CUDA' -- --selftest --device cuda
  expect_refusal 2 'is not known' -- --selftest --device tpu
}

@test "a self-test that gives no answer ends at its deadline" {
  expect_refusal 9 'no answer within 0.05 s' -- --selftest --device cpu --timeout 0.05
}

@test "an output that cannot be written stops the self-test before it measures" {
  expect_refusal 8 'does not exist' -- --selftest --device cpu --json "$TMP/none/s.json"
}

@test "an interrupted self-test ends with 130, a terminated one with 143" {
  local object signal
  object=$(dirname "$ATTNBENCH")/tests/plugins/signals_at_pipe.so
  [ -f "$object" ] || skip "no $object; make test-programs builds it"
  for signal in 2:130 15:143; do
    # The signal comes while the process that measures is being started.
    ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$object PIPE_AT=2 PIPE_SIGNAL=${signal%:*} \
      attn --selftest --device cpu --json "$TMP/s.json"
    expect_status "${signal#*:}"
    expect_err_lines 1
    expect_err_matches '^attnbench: (interrupted|terminated)$'
    expect_no_out
    [ ! -e "$TMP/s.json" ] || fail "a report of nothing"
  done
}
