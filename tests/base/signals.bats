# What the world does to a run: signals at any moment, readers that are not there, files that go away or are links.
load ../helper

setup() { need_steady; }
run_held() {
  hold_at 1
  write_file s.json '{"attnbench_sweep": 1, "name": "s", "variants": ["cpu_ref", "steady"], "shapes": [{"B": 1, "H": 2, "S": 1, "D": 8}]}'
  HELD=(env --default-signal=HUP,INT "$ATTNBENCH" --sweep "$TMP/s.json" --device cpu --load "$STEADY" --check-only)
}
tiny() { attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants cpu_flash "$@"; }
expect_childless() { # fails while anything that runs was started with MARK in its environment
  local left
  for _ in $(seq 500); do
    left=$(grep -lazF "$1" /proc/[0-9]*/environ 2>/dev/null || true)
    [ -n "$left" ] || return 0
    sleep 0.05
  done
  fail "still running: $left"
}

@test "each signal that asks to stop has its exit code, a report of what was measured, and a journal to resume from" {
  run_held
  local signal
  for signal in HUP:129 INT:130 TERM:143; do
    rm -f "$TMP/processes" "$TMP/r.json" "$TMP/r.json.journal"
    "${HELD[@]}" --json "$TMP/r.json" 2>"$ERR" &
    local run=$!
    wait_for_hold
    kill "-${signal%:*}" "$run"
    ended "$run" "${signal#*:}"
    expect_json "$TMP/r.json" 'd["run"]["state"] == "interrupted" and [r["status"] for r in d["results"]] == ["ok"]'
    expect_err "to measure the rest, give the same command --journal $TMP/r.json.journal --resume"
  done
  rm -f "$TMP/processes"
  STEADY_HOW='' must 0 capture "${HELD[@]}" --json "$TMP/r.json" --journal "$TMP/r.json.journal" --resume
  expect_json "$TMP/r.json" 'd["run"]["state"] == "complete" and d["run"]["resumed"] == 1'
}

@test "nohup is heard" {
  run_held
  env --ignore-signal=HUP "${HELD[@]:2}" --json "$TMP/r.json" 2>"$ERR" &
  local run=$!
  wait_for_hold
  kill -HUP "$run"
  kill -TERM "$run"
  ended "$run" 143
}

# The pipes of a run are made in a known order: those to the process that describes the object, then to the worker.
@test "a signal while a process starts counts as one" {
  local object signal at
  object=$(dirname "$STEADY")/signals_at_pipe.so
  [ -f "$object" ] || skip "no $object; make test-programs builds it"
  for at in 1 2 3 4; do
    for signal in 1:129 2:130 15:143; do
      rm -f "$TMP/r.json"
      status=0
      env --default-signal=HUP ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$object" PIPE_AT=$at PIPE_SIGNAL="${signal%:*}" \
        "$ATTNBENCH" --sweep tests/data/sweeps/tiny.json --device cpu --load "$STEADY" --variants cpu_flash --only "*" --check-only --json "$TMP/r.json" >"$OUT" 2>"$ERR" || status=$?
      expect_status "${signal#*:}"
      [ ! -e "$TMP/r.json" ] || expect_json "$TMP/r.json" 'd["run"]["state"] == "interrupted"'
    done
  done
}

@test "signals in the first moments of a run end it as signals, never as failures" {
  local delay
  for delay in 0 0.002 0.005 0.01 0.02 0.03 0.05; do
    rm -f "$TMP/r.json" "$TMP/r.json.journal"
    env --default-signal=INT "$ATTNBENCH" --sweep tests/data/sweeps/tiny.json --device cpu --load "$STEADY" --variants cpu_flash --only "*" \
      --check-only --json "$TMP/r.json" 2>"$ERR" &
    local run=$!
    sleep "$delay"
    kill -TERM "$run" 2>/dev/null || true
    status=0
    wait "$run" || status=$?
    case $status in 143 | 0) ;; *) fail "after $delay s" ;; esac
  done
}

# killed_in_the_middle COMMAND...: which holds a worker. Killed by its number, or by `timeout`, it leaves no process.
killed_in_the_middle() {
  local run signal
  ATTNBENCH_TEST_MARK=$TMP "$@" 2>"$ERR" >"$OUT" &
  run=$!
  wait_for_hold
  kill -KILL "$run"
  ended "$run" 137
  expect_childless "ATTNBENCH_TEST_MARK=$TMP"
  for signal in KILL TERM; do
    # Where a slow machine has not come to the worker by then, less is asked for.
    ATTNBENCH_TEST_MARK=$TMP timeout -s "$signal" -k 20 2 "$@" 2>"$ERR" >"$OUT" || true
    expect_childless "ATTNBENCH_TEST_MARK=$TMP"
  done
}

@test "a run that is killed in the middle leaves no process behind" {
  run_held
  killed_in_the_middle "${HELD[@]:2}"
}

@test "an ab that is killed in the middle leaves no process behind" {
  run_held
  killed_in_the_middle "$ATTNBENCH" ab --base "$ATTNBENCH" --sweep "$TMP/s.json" --device cpu --load "$STEADY"
}

@test "a script that is killed in the middle leaves nothing of what it started" {
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not installed"
  command -v setpriv >/dev/null || skip "setpriv is not installed"
  run_held
  killed_in_the_middle env PYTHONPATH="$ROOT/scripts" "$ATTN_PYTHON" -B -c 'import sys
from lib import program
program.run_main(lambda: program.execute(sys.argv[1:]).returncode)' "${HELD[@]:2}"
}

@test "a redirected stream as an output is written to, not replaced" {
  local name
  tiny --json "$TMP/r.json"
  echo first >"$TMP/log"
  for name in /dev/stdout /dev/fd/1 /proc/self/fd/1; do
    "$ATTNBENCH" report "$TMP/r.json" --csv "$name" >>"$TMP/log"
  done
  "$ATTNBENCH" report "$TMP/r.json" --csv /dev/stderr 2>>"$TMP/log" >/dev/null
  ln -s /dev/fd/7 "$TMP/link"
  for name in /dev/fd/7 "$TMP/link"; do
    "$ATTNBENCH" report "$TMP/r.json" --csv "$name" 7>>"$TMP/log" >/dev/null
  done
  [ "$(head -n 1 "$TMP/log")" = first ] || fail "the log was replaced"
  [ "$(grep -c '^device,' "$TMP/log")" -eq 6 ] || fail "$(cut -c1-60 "$TMP/log")"
  [ -L "$TMP/link" ]
  exec 9>&- # whatever the caller left open
  expect_refusal 8 'Bad file descriptor' -- report "$TMP/r.json" --csv /dev/fd/9
  expect_refusal 8 'Bad file descriptor' -- report "$TMP/r.json" --csv /dev/fd/0
}

@test "a link to a file that is not there yet becomes that file, and stays a link" {
  mkdir "$TMP/a"
  ln -s a/r.json "$TMP/link"
  ln -s link "$TMP/second"
  ln -s round "$TMP/round"
  must 0 tiny --json "$TMP/second"
  [ -L "$TMP/link" ] && [ -L "$TMP/second" ] && [ -f "$TMP/a/r.json" ] || fail "$(ls -lR "$TMP")"
  rm "$TMP/a/r.json"
  expect_refusal 2 'are one file' -- --sweep tests/data/sweeps/tiny.json --json "$TMP/link" --csv "$TMP/a/r.json"
  must 8 tiny --json "$TMP/round"
  expect_err 'links go in a circle'
}

@test "a pipe that nobody reads, and a reader that goes away, end with 8" {
  mkfifo "$TMP/pipe"
  run_held
  STEADY_AT=0 "${HELD[@]}" --json "$TMP/pipe" 2>"$ERR" >/dev/null &
  local run=$!
  for _ in $(seq 400); do
    [ ! -e "$TMP/pipe.journal" ] || ! grep -q '^{"end"' "$TMP/pipe.journal" || break
    sleep 0.02
  done
  kill -TERM "$run"
  ended "$run" 143
  expect_err 'are kept: attnbench report'
  rm -f "$TMP/pipe.journal"
  head -c 100 "$TMP/pipe" >/dev/null &
  tiny --json "$TMP/pipe"
  wait $!
  case $status in 0 | 8) ;; *) fail "a reader that went away" ;; esac
}

@test "a file size limit is an output that cannot be written" {
  ! grep -qa libgcov "$ATTNBENCH" || skip "counts of lines are files too"
  (ulimit -f 1 && tiny --json "$TMP/r.json"; echo "$status" >"$TMP/status")
  status=$(cat "$TMP/status")
  expect_status 8
  expect_err 'File too large'
  tiny --json "$TMP/whole.json"
  (ulimit -f 1 && attn report "$TMP/whole.json" --json "$TMP/r.json"; echo "$status" >"$TMP/status")
  status=$(cat "$TMP/status")
  expect_status 8
  [ ! -e "$TMP/r.json" ] || fail "half a file was left"
}

@test "an output in the place of the run's own journal is refused" {
  expect_refusal 2 'is where the journal of this run would be' -- --sweep tests/data/sweeps/tiny.json --json "$TMP/a" \
    --csv "$TMP/a.journal"
  must 0 tiny --json "$TMP/a" --csv "$TMP/a.journal" --journal "$TMP/b"
}

@test "a journal that is lost during the run ends it with 8; its lines and the reports are saved" {
  local way run
  run_held
  # shellcheck disable=SC2016 # expanded where they are run
  for way in 'rm "$TMP/j"' 'cp "$TMP/j" "$TMP/other"; mv "$TMP/other" "$TMP/j"' ': >"$TMP/j"'; do
    rm -f "$TMP"/{j,j.saved1,r.json,processes}
    "${HELD[@]}" --journal "$TMP/j" --json "$TMP/r.json" 2>"$ERR" &
    run=$!
    wait_for_hold
    eval "$way"
    kill -TERM "$run"
    ended "$run" 8
    expect_err_matches "^attnbench: $TMP/j: was (removed|replaced by another file|truncated) while the run wrote it; what was measured is saved in $TMP/j.saved1\$"
    refute_err 'results so far are kept'
    expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"]'
    attn report "$TMP/j.saved1" --json "$TMP/saved.json"
    cmp "$TMP/r.json" "$TMP/saved.json"
  done
  # A journal that nobody named is kept then.
  rm -f "$TMP/processes"
  mkdir "$TMP/t"
  TMPDIR=$TMP/t "${HELD[@]}" >/dev/null 2>"$ERR" &
  run=$!
  wait_for_hold
  rm "$TMP"/t/*.journal
  kill -TERM "$run"
  ended "$run" 8
  attn report "$TMP"/t/*.journal.saved1
  expect_out '1 of 2 cells'
}

@test "the journal of a run that names none has another name each time, and is never in /" {
  local folder first
  mkdir "$TMP/t"
  run_held
  for _ in 1 2; do
    rm -f "$TMP/processes"
    TMPDIR=$TMP/t "${HELD[@]}" >/dev/full 2>"$ERR" &
    local run=$!
    wait_for_hold
    kill -TERM "$run"
    ended "$run" 143
    expect_err "results so far are kept: attnbench report $TMP/t/attnbench-"
  done
  [ "$(find "$TMP/t" -name 'attnbench-????????????????.journal' | wc -l)" -eq 2 ] || fail "$(ls "$TMP/t")"
  TMPDIR='' must 0 tiny
  TMPDIR=$TMP/none must 8 tiny
  expect_err "$TMP/none"
}
