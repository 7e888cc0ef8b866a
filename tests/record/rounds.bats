# tags: long slow asan
# --rounds, --modes, --quick and --only: what several fresh processes measure of the same cells. The variant `steady`
# (tests/plugins/steady.c) takes as long as it is told and misbehaves in the process it is told.
load ../helper

setup() {
  need_steady
  SWEEP=$(write_file s.json '{"attnbench_sweep": 1, "name": "steady", "variants": ["steady", "cpu_ref"],
    "shapes": [{"B": 1, "H": 2, "S": 1, "D": 8}, {"B": 2, "H": 2, "S": 1, "D": 8}]}')
  export STEADY_US=300
}
# Every process that runs `steady` counts itself, so the worker of round N is number N + 1.
misbehave() { export STEADY_FILE=$TMP/processes STEADY_AT=$1 STEADY_HOW=$2; }
rounds() { attn --sweep "$SWEEP" --device cpu --load "$STEADY" --quick --json "$TMP/r.json" --journal "$TMP/j" "$@"; }

@test "every round is a fresh process that measures every cell once" {
  misbehave 99 never
  must 0 rounds --rounds 4
  [ "$(wc -c <"$TMP/processes")" -eq 4 ] || fail "not four processes: $(cat "$TMP/processes")"
  expect_json "$TMP/r.json" 'len(d["results"]) == 4 and all(r["processes"][m]["count"] == 4
    and len(r["processes"][m]["median_us"]) == len(r["processes"][m]["sm_clock_mhz"]) == 4
    for r in d["results"] for m in ("cold", "hot"))'
  expect_json "$TMP/r.json" 'all(r["processes"][m]["median_us"][0] == r["time"][m]["median_us"]
    for r in d["results"] for m in ("cold", "hot"))'
  expect_json "$TMP/r.json" 'all(r["between_processes"][m]["ci_high_us"] == max(r["processes"][m]["median_us"])
    and r["between_processes"][m]["confidence_ratio"] == 0.875 for r in d["results"] for m in ("cold", "hot"))'
  expect_json "$TMP/r.json" 'all(300 <= us < 3000 for r in d["results"] if r["variant"] == "steady"
    for us in r["processes"]["hot"]["median_us"])'
  expect_json "$TMP/r.json" 'd["run"]["quick"] is True and "--rounds 4" in d["run"]["command"]'
  [ "$(grep -c '^{"again":' "$TMP/j")" -eq 12 ]
}

@test "its report is valid, and the journal gives it again, byte for byte" {
  must 0 rounds --rounds 3
  expect_valid results/report.schema.json "$TMP/r.json"
  python scripts/proof/validate_report.py "$TMP/r.json"
  must 0 attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  must 0 attn diagnose "$TMP/r.json" --json "$TMP/derived.json"
  cmp "$TMP/r.json" "$TMP/derived.json"
}

@test "one round leaves no trace of processes" {
  must 0 rounds
  expect_json "$TMP/r.json" 'not any("processes" in r or "between_processes" in r for r in d["results"])'
  refute_valid results/report.schema.json <(sed 's/"wall_s"/"processes": {}, "wall_s"/' "$TMP/r.json")
}

@test "a later round that is wrong makes the row wrong, without any speed" {
  misbehave 3 wrong
  must 3 rounds --rounds 4
  expect_json "$TMP/r.json" 'd["summary"]["wrong"] == 2 and d["summary"]["ok"] == 2'
  expect_json "$TMP/r.json" 'all(r["reason"].startswith("round 2: ") and r["time"] is None and "processes" not in r
    for r in d["results"] if r["status"] == "wrong")'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "a crash in a later round costs its cell, and the round goes on" {
  misbehave 2 crash
  must 4 rounds --rounds 3
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["crashed", "ok", "ok", "ok"]'
  expect_json "$TMP/r.json" 'd["results"][0]["reason"].startswith("round 1: the worker process was killed by signal 11")'
  expect_json "$TMP/r.json" 'd["results"][2]["processes"]["hot"]["count"] == 3'
}

@test "a hang in a later round is stopped at the deadline" {
  misbehave 2 hang
  rounds --rounds 2 --timeout 5 # long enough for a busy machine to measure a cell
  expect_status 4
  expect_json "$TMP/r.json" 'd["results"][0]["status"] == "timeout" and d["results"][0]["reason"].startswith("round 1: ")'
}

@test "an interrupted run keeps the rounds it has" {
  hold_at 3
  env --default-signal=INT "$ATTNBENCH" --sweep "$SWEEP" --device cpu --load "$STEADY" --quick --rounds 9 \
    --json "$TMP/r.json" --journal "$TMP/j" 2>"$ERR" &
  interrupt $!
  expect_json "$TMP/r.json" 'd["run"]["state"] == "interrupted"
    and {r["processes"]["hot"]["count"] for r in d["results"]} == {2}'
}

@test "a torn journal keeps the rounds before the tear" {
  rounds --rounds 3
  head -n -1 "$TMP/j" | head -c -30 >"$TMP/torn"
  must 0 attn report "$TMP/torn" --json "$TMP/torn.json"
  expect_json "$TMP/torn.json" '[r["processes"]["hot"]["count"] for r in d["results"]] == [3, 3, 3, 2]'
  drop_checksums "$TMP/j"
  sed 's/"round":2/"round":1/' "$TMP/j" >"$TMP/bad"
  must 7 attn report "$TMP/bad"
  expect_err 'round 2 is the next one'
}

@test "--modes takes the times that are named, and no others" {
  for mode in hot cold; do
    rm -f "$TMP/j"
    must 0 rounds --rounds 2 --modes "$mode" --reference cpu_ref
    python scripts/proof/validate_report.py "$TMP/r.json"
    local other=hot
    [ "$mode" = cold ] || other=cold
    expect_json "$TMP/r.json" "all(r['time']['$other'] is None and r['time']['$mode'] for r in d['results'])"
    expect_json "$TMP/r.json" "all(r['processes']['$other'] is None and r['processes']['$mode']['count'] == 2
      for r in d['results'])"
    expect_json "$TMP/r.json" "all(r['speedup_vs']['$other'] is None and r['speedup_vs']['$mode']['ratio'] > 0
      for r in d['results'] if r['variant'] == 'steady')"
  done
  expect_refusal 2 '"warm" is not a mode' -- --sweep "$SWEEP" --device cpu --load "$STEADY" --modes warm
}

@test "--only measures the cells that are named" {
  must 0 rounds --only B2.H2.Hkv2.Sq1.Skv1.D8.f16.full/steady --only B1.H2.Hkv2.Sq1.Skv1.D8.f16.full/cpu_ref
  expect_json "$TMP/r.json" '[(r["key"][:2], r["variant"]) for r in d["results"]] == [["B1", "cpu_ref"], ["B2", "steady"]]
    or [(r["key"][:2], r["variant"]) for r in d["results"]] == [("B1", "cpu_ref"), ("B2", "steady")]'
  expect_json "$TMP/r.json" 'd["run"]["cells"] == 2'
  expect_refusal 2 'is no cell and no case of this run' -- --sweep "$SWEEP" --device cpu --load "$STEADY" --only B1/steady
}

@test "a quick run takes less time" {
  rounds --variants steady
  local quick
  quick=$(json "$TMP/r.json" 'sum(t["elapsed_s"] for r in d["results"] for t in r["time"].values())')
  expect_json "$TMP/r.json" "$quick < 4 * 0.3"
}

@test "rounds out of range, or without times, are usage errors" {
  for rounds in 0 65 x 2.5 -1; do
    expect_refusal 2 '; give 1 to 64' -- --sweep "$SWEEP" --rounds "$rounds"
  done
  expect_refusal 2 '--rounds 4 is too few; a comparison needs 5 to 64' -- --sweep "$SWEEP" --baseline x --rounds 4
  expect_refusal 2 'takes no times' -- --sweep "$SWEEP" --rounds 2 --check-only
}

@test "the report says what the machine is told to do" {
  rounds
  expect_json "$TMP/r.json" 'd["device"]["policy"]["host_kernel"].startswith("Linux ")'
  expect_json "$TMP/r.json" 'd["device"]["policy"]["mig"] is None and d["device"]["policy"]["power_limit_w"] is None'
}
