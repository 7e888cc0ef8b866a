# tags: slow
# --resume: a run continues where its journal ends, and only its own run does.
load ../helper

tiny() {
  attn --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants cpu_flash,cpu_ref --journal "$TMP/j" \
    --json "$TMP/r.json" "$@"
}
lines_of() { grep -c "^{\"$1\":" "$TMP/j" || true; }
# A journal of four cells, cut in the middle of the last one.
torn() {
  rm -f "$TMP/j"
  must 0 tiny --resume
  grep -v '^{"end":' "$TMP/j" | head -c -200 >"$TMP/torn"
  mv "$TMP/torn" "$TMP/j"
}

# ATTN_KILLS=100 tests/... kills as often; the moments are others each time, and the line printed names their seed.
@test "kills at random moments lose no cell, and leave no process and no file" {
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not here"
  must 0 capture "$ATTN_PYTHON" tests/kill_runs.py "$ATTNBENCH" "${ATTN_KILLS:-8}"
  need_steady
  STEADY_US=30 must 0 capture "$ATTN_PYTHON" tests/kill_runs.py "$ATTNBENCH" "$((${ATTN_KILLS:-8} / 4))" --rounds 2 --load "$STEADY"
}

@test "a torn line is dropped, and only what is missing is measured" {
  must 0 tiny
  cp "$TMP/r.json" "$TMP/whole.json"
  torn
  [ "$(lines_of cell)" -eq 4 ] || fail "the last line should begin"
  must 0 tiny --resume
  [ "$(lines_of cell)" -eq 4 ] && [ "$(lines_of resumed)" -eq 1 ] || fail "$(cut -c1-80 "$TMP/j")"
  expect_json "$TMP/r.json" 'd["run"]["resumed"] == 1 and d["run"]["state"] == "complete" and d["summary"]["ok"] == 4'
  expect_json "$TMP/r.json" 'd["run"]["wall_s"] >= sum(r["wall_s"] for r in d["results"])'
  expect_valid results/report.schema.json "$TMP/r.json"
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
}

@test "a whole run is only reported again" {
  must 0 tiny --resume
  cp "$TMP/j" "$TMP/before"
  cp "$TMP/r.json" "$TMP/whole.json"
  must 0 tiny --resume
  cmp "$TMP/j" "$TMP/before"
  cmp "$TMP/r.json" "$TMP/whole.json"
  must 8 tiny
  expect_err '--resume'
}

@test "a journal without a whole first line begins anew, and damage elsewhere is an error with its line" {
  printf '{"journal":"attnben' >"$TMP/j"
  must 0 tiny --resume
  [ "$(lines_of resumed)" -eq 0 ] && [ "$(lines_of cell)" -eq 4 ]
  sed -i '5s/"status":"ok"/"status":"fine"/' "$TMP/j"
  cp "$TMP/j" "$TMP/before"
  must 7 tiny --resume
  expect_err "$TMP/j:5: "
  cmp "$TMP/j" "$TMP/before"
  printf 'precious' >"$TMP/j"
  must 7 tiny --resume
  [ "$(cat "$TMP/j")" = precious ]
}

@test "another run is refused with what differs" {
  torn
  drop_checksums "$TMP/j"
  cp "$TMP/j" "$TMP/before"
  refused() {
    must 6 tiny --resume "${@:2}"
    expect_err "this is not the run of $TMP/j: $1"
    cmp "$TMP/j" "$TMP/before"
  }
  refused 'seed was 1 there and is 2 here' --seed 2
  refused 'selected cells was 4' --filter causal=false
  refused 'planned GPU was h200 there and is l4 here' --gpu l4
  sed 's/"about": "/&another /' tests/data/sweeps/tiny.json >"$TMP/s.json"
  must 6 attn --sweep "$TMP/s.json" --device cpu --check-only --variants cpu_flash,cpu_ref --journal "$TMP/j" --resume
  expect_err 'sweep was tiny'
  must 6 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash,cpu_ref --journal "$TMP/j" --resume=anyway
  expect_err 'times taken was none there and is hot,cold here; give the same arguments'
  # A device, a CPU and a program that this machine does not have.
  sed -i 's/"uuid":""/"uuid":"GPU-1"/' "$TMP/j"
  must 6 tiny --resume
  expect_err 'GPU-1'
  sed 's/"host_cpu":"[^"]*"/"host_cpu":"Z80"/' "$TMP/before" >"$TMP/j"
  tiny --resume
  expect_err 'host CPU was Z80'
  sed 's/"program":"[^"]*"/"program":"0123456789abcdef"/' "$TMP/before" >"$TMP/j"
  tiny --resume
  expect_err 'program was'
  sed 's/,"setup":{[^}]*}//' "$TMP/before" >"$TMP/j"
  tiny --resume=anyway
  expect_err 'does not say how its run was set up'
}

@test "a journal with a cell that its run did not set out to measure is refused" {
  torn
  drop_checksums "$TMP/j"
  sed -i '4s/full/full.softcap1/; 4s/"causal":false/"causal":false,"softcap":1/' "$TMP/j"
  cp "$TMP/j" "$TMP/before"
  must 7 tiny --resume
  expect_err "$TMP/j has cells that its run did not set out to measure"
  cmp "$TMP/j" "$TMP/before"
}

@test "a rebuilt object of --load is another run" {
  need_steady
  cp "$STEADY" "$TMP/mine.so"
  mine() {
    attn --sweep "$TMP/s.json" --device cpu --check-only --load "$TMP/mine.so" --journal "$TMP/j" --resume --json "$TMP/r.json"
  }
  write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 2, "S": 1, "D": 8}], "variants": ["steady"]}'
  mine
  expect_status 0
  printf 'x' >>"$TMP/mine.so"
  mine
  expect_status 6
  expect_err 'objects of --load was'
}

@test "--resume=anyway measures the rest and marks its rows, which no comparison takes" {
  torn
  must 0 tiny --resume=anyway --seed 2
  expect_json "$TMP/r.json" '[r.get("resumed_with_other") for r in d["results"]] == [None, None, None, "seed"]'
  expect_valid results/report.schema.json "$TMP/r.json"
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  attn report "$TMP/r.json" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  for file in r.json j; do
    must 6 attn compare "$TMP/$file" "$TMP/$file"
    expect_err 'with another seed than the rest'
  done
}

@test "--resume=anyway with other cells keeps both" {
  torn
  must 0 tiny --resume=anyway --filter causal=true
  expect_json "$TMP/r.json" 'd["run"]["cells"] == 4 and len(d["results"]) == 4 and d["summary"]["exit_code"] == 0'
}

@test "a cell whose worker was killed from outside is measured again, one that crashed by itself is not" {
  torn
  drop_checksums "$TMP/j"
  local lost='"status":"crashed","math":"fp32_host","reason":"the worker process was killed by signal 9 (Killed)"'
  sed -i "4s/\"status\":\"ok\",\"math\":\"fp32_host\"/$lost/" "$TMP/j"
  cp "$TMP/j" "$TMP/before"
  must 0 tiny --resume
  [ "$(lines_of cell)" -eq 5 ] || fail "$(cut -c1-80 "$TMP/j")"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] * 4'
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  sed 's/signal 9 (Killed)/signal 11 (Segmentation fault)/' "$TMP/before" >"$TMP/j"
  must 4 tiny --resume
  [ "$(lines_of cell)" -eq 4 ] || fail "$(cut -c1-80 "$TMP/j")"
}

@test "an interrupted run goes on, round by round" {
  need_steady
  write_file s.json '{"attnbench_sweep": 1, "name": "s", "variants": ["steady"],
    "shapes": [{"B": 1, "H": 2, "S": 1, "D": 8}, {"B": 2, "H": 2, "S": 1, "D": 8}]}'
  local run=("$ATTNBENCH" --sweep "$TMP/s.json" --device cpu --load "$STEADY" --quick --modes hot --rounds 3
    --journal "$TMP/j" --json "$TMP/r.json" --resume)
  export STEADY_US=30
  hold_at 2
  env --default-signal=INT "${run[@]}" 2>"$ERR" &
  interrupt $!
  expect_json "$TMP/r.json" 'd["run"]["state"] == "interrupted" and not any("processes" in r for r in d["results"])'
  STEADY_AT=99 must 0 capture "${run[@]}"
  [ "$(wc -c <"$STEADY_FILE")" -eq 4 ] || fail "processes: $(cat "$STEADY_FILE")"
  expect_json "$TMP/r.json" 'd["run"]["state"] == "complete" and [r["processes"]["hot"]["count"] for r in d["results"]] == [3, 3]'
  must 6 attn --sweep "$TMP/s.json" --device cpu --load "$STEADY" --quick --modes hot --rounds 4 --journal "$TMP/j" --resume=anyway
  expect_err 'number of --rounds was 3 there and is 4 here'
}

@test "a journal that is being written is not written twice" {
  need_steady
  write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 2, "S": 1, "D": 8}], "variants": ["steady"]}'
  local run=("$ATTNBENCH" --sweep "$TMP/s.json" --device cpu --load "$STEADY" --check-only --journal "$TMP/j" --resume)
  hold_at 1
  env --default-signal=INT "${run[@]}" >"$OUT" 2>&1 &
  local first=$!
  wait_for_hold
  must 8 capture "${run[@]}"
  expect_err 'another attnbench is writing this journal'
  interrupt $first
}

@test "--resume without a journal, or for a profiler, is refused" {
  expect_refusal 2 '--resume does nothing without --journal' -- --sweep tests/data/sweeps/tiny.json --resume
  expect_refusal 2 'is not understood; give --resume or --resume=anyway' -- --sweep tests/data/sweeps/tiny.json \
    --journal "$TMP/j" --resume=maybe
  expect_refusal 2 'a profiler captures all launches of one process' -- --sweep tests/data/sweeps/tiny.json --profile \
    --journal "$TMP/j" --resume
}
