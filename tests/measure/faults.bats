# tags: slow
load ../helper

faulty() {
  attn_faulty --sweep tests/data/sweeps/tiny.json --device cpu --check-only --json "$TMP/r.json" "$@"
}

# expect_rows VARIANT STATUS: every row of the variant has this status, a reason, and no speed.
expect_rows() {
  expect_json "$TMP/r.json" "[r['status'] for r in d['results'] if r['variant'] == '$1'] == ['$2'] * 2"
  expect_json "$TMP/r.json" "all(r['reason'] and r['time'] is None and r['tflop_per_s'] is None
    and r['gb_per_s'] is None for r in d['results'] if r['variant'] == '$1')"
}

@test "every planted wrong output is caught: status wrong, no speed, exit 3" {
  for fault in skip_head last_tile mask_off_by_one missing_merge nan; do
    must 3 faulty --variants "fault_$fault,cpu_flash"
    expect_rows "fault_$fault" wrong
    expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"] if r["variant"] == "cpu_flash")'
    expect_valid results/report.schema.json "$TMP/r.json"
  done
}

@test "the reason places the first wrong element" {
  faulty --variants fault_skip_head
  expect_json "$TMP/r.json" '"first at [b=0, h=1, q=0, d=0]" in d["results"][0]["reason"]'
  expect_json "$TMP/r.json" 'd["results"][0]["check"]["nan_count"] == 65 * 64'
}

@test "a write outside the tensors and a changed input are caught" {
  must 3 faulty --variants fault_redzone,fault_input
  expect_rows fault_redzone wrong
  expect_rows fault_input wrong
  expect_json "$TMP/r.json" '"outside its tensors (first beside o)" in d["results"][0]["reason"]'
  expect_json "$TMP/r.json" '"inputs" in d["results"][1]["reason"]'
}

@test "stale output is caught before timing, a variant that turns wrong later after it" {
  must 3 attn_faulty --sweep tests/data/sweeps/tiny.json --device cpu --filter causal=false --variants fault_stale,fault_late \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "wrong" and r["time"] is None for r in d["results"])'
  expect_json "$TMP/r.json" '[r["check"]["after_timing"] for r in d["results"]] == [False, True]'
}

@test "how a worker ended is told where SIGCHLD was inherited as ignored" {
  [ -n "$ATTNBENCH_FAULTY" ] || skip "ATTNBENCH_FAULTY is not set; make test sets it"
  must 4 capture env --ignore-signal=CHLD "$ATTNBENCH_FAULTY" --sweep tests/data/sweeps/tiny.json --device cpu --check-only \
    --variants fault_crash --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all("signal 11" in r["reason"] for r in d["results"])'
}

@test "a worker killed from outside costs one cell" {
  [ -n "$ATTNBENCH_FAULTY" ] || skip "ATTNBENCH_FAULTY is not set; make test sets it"
  "$ATTNBENCH_FAULTY" --sweep tests/data/sweeps/tiny.json --device cpu --check-only --filter causal=false \
    --timeout 60 --variants fault_hang,cpu_flash,cpu_ref --json "$TMP/r.json" &
  local run=$!
  wait_for_child "$run"
  sleep 0.5
  kill -9 "$CHILD"
  ended "$run" 4
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["crashed", "ok", "ok"]'
  expect_json "$TMP/r.json" '"signal 9" in d["results"][0]["reason"]'
}

@test "an interrupted run writes a partial report and ends with 130" {
  [ -n "$ATTNBENCH_FAULTY" ] || skip "ATTNBENCH_FAULTY is not set; make test sets it"
  for signal in INT:130 TERM:143; do
    rm -f "$TMP/r.json" "$TMP/r.json.journal"
    # A background command of a shell ignores SIGINT; env --default-signal gives it back.
    env --default-signal=INT "$ATTNBENCH_FAULTY" --sweep tests/data/sweeps/tiny.json --device cpu --check-only \
      --variants cpu_flash,fault_hang --json "$TMP/r.json" 2>"$ERR" &
    local run=$!
    sleep 1.5
    kill "-${signal%:*}" "$run"
    ended "$run" "${signal#*:}"
    expect_err_lines 2
    expect_err_matches "^attnbench: (interrupted|terminated): 3 of 4 cells were not measured; see $TMP/r.json\$"
    expect_json "$TMP/r.json" 'd["run"]["state"] == "interrupted" and [r["status"] for r in d["results"]] == ["ok"]'
  done
}

@test "a failure of attnbench itself is told even after Ctrl-C" {
  local object
  object=$(dirname "$ATTNBENCH")/tests/plugins/signals_at_pipe.so
  [ -f "$object" ] || skip "no $object; make test-programs builds it"
  # The third pipe is the first one of the second round's process.
  ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$object PIPE_AT=3 PIPE_SIGNAL=2 PIPE_FAILS=1 must 9 attn --sweep tests/data/sweeps/tiny.json \
    --device cpu --variants cpu_flash --filter causal=false --modes hot --quick --rounds 2 --json "$TMP/r.json"
  expect_err 'cannot make a pipe for the worker'
  expect_json "$TMP/r.json" 'd["run"]["state"] == "interrupted" and d["results"][0]["status"] == "ok"'
}
