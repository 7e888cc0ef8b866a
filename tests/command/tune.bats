# tags: slow asan
# tune: the tunables of a variant, searched on this machine. The object tests/plugins/tunable.c says what is fast.
load ../helper

setup() {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/tests/plugins/tunable.so" ] || folder=$(make -s print-BUILD)
  OBJECT=$folder/tests/plugins/tunable.so
  [ -f "$OBJECT" ] || skip "no $OBJECT; make test-programs builds it"
  export TUNABLE_US=300 TUNABLE_BEST=3
}
# One query and one key; the tunables that are not given.
tune() {
  local variant=$1
  shift
  attn tune --shape B=1,H=1,S=1,D=64 --device cpu --load "$OBJECT" --variant "$variant" --journal "$TMP/j" "$@"
}
cells_of() { grep -cE '^{"(cell|again)":' "$TMP/j" || true; }
wait_for_cells() {
  for _ in $(seq 400); do
    if [ -e "$TMP/j" ] && [ "$(cells_of)" -ge "$1" ]; then return; fi
    sleep 0.02
  done
  fail "no $1 measurements: $(cut -c1-80 "$TMP/j")"
}

@test "tune finds the fastest right tuning, also when it is killed on the way, and writes a sweep that runs" {
  "$ATTNBENCH" tune --shape B=1,H=1,S=1,D=64 --device cpu --load "$OBJECT" --variant tunable:twin=0 --journal "$TMP/j" \
    --quiet &
  local pid=$! cells
  wait_for_cells 9
  kill -KILL "$pid"
  wait "$pid" || true
  cells=$(cells_of)
  COLUMNS=160 must 0 tune tunable:twin=0 --resume --json "$TMP/best.json"
  expect_out_matches '> tunable:step=3,twin=0 +[0-9.]+ +[0-9.]+ +[0-9.]+x +[0-9.]+ to [0-9.]+ +7 of 7 +3 +better'
  [ "$cells" -lt 20 ] && [ "$(cells_of)" -gt "$cells" ] || fail "$cells cells, then $(cells_of)"
  expect_json "$TMP/best.json" 'd["shapes"] == ["B1.H1.Hkv1.Sq1.Skv1.D64.f16.full"] and
    d["variants"] == ["tunable:twin=0", "tunable:step=3,twin=0"] and
    d["tuned"] == [{"case": d["shapes"][0], "variant": "tunable:step=3,twin=0"}]'
  must 0 attn --sweep "$TMP/best.json" --load "$OBJECT" --device cpu --check-only --quiet --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "ok"]'

  # The journal has every measurement once; reports read it, and no comparison takes it.
  attn report "$TMP/j" --quiet --json "$TMP/report.json"
  expect_valid results/report.schema.json "$TMP/report.json"
  expect_json "$TMP/report.json" 'd["run"]["tuned"] and d["run"]["resumed"] == 1 and len(d["results"]) == 7 and
    {r["variant"]: r["status"] for r in d["results"] if r["status"] != "ok"} == {"tunable:step=4,twin=0": "skipped",
    "tunable:step=5,twin=0": "wrong", "tunable:step=6,twin=0": "crashed"}'
  expect_json "$TMP/report.json" '{r["variant"]: r["processes"]["hot"]["count"] for r in d["results"] if "processes" in r}
    == {"tunable:twin=0": 9, "tunable:step=3,twin=0": 9, "tunable:step=0,twin=0": 3, "tunable:step=2,twin=0": 3}'
  expect_refusal 6 'attnbench tune measured it' -- compare "$TMP/j" "$TMP/j"

  # What came to its end is only reported again.
  cp "$TMP/j" "$TMP/before"
  must 0 tune tunable:twin=0 --resume --json "$TMP/again.json"
  cmp "$TMP/j" "$TMP/before"
  cmp "$TMP/best.json" "$TMP/again.json"
}

@test "a default that is the fastest stays, and the sweep holds it alone" {
  TUNABLE_BEST=1 must 0 tune tunable:twin=0 --json -
  expect_json "$OUT" 'd["variants"] == ["tunable:twin=0"] and "tuned" not in d'
  tune tunable:twin=0 --resume
  expect_out 'the default is the fastest'
}

@test "a spent budget leaves tunings out and says how many" {
  must 0 tune tunable --budget 0.001s
  expect_out_matches ' 2 of 14 '
}

@test "an interrupted search writes what there is and says how to go on" {
  "$ATTNBENCH" tune --shape B=1,H=1,S=1,D=64 --device cpu --load "$OBJECT" --variant tunable:twin=0 --journal "$TMP/j" \
    >"$OUT" 2>"$ERR" &
  local pid=$!
  wait_for_cells 3
  kill -INT "$pid"
  ended "$pid" 130
  expect_out 'cut off'
  grep -q '"state":"interrupted"' "$TMP/j" || fail "$(tail -c 200 "$TMP/j")"
}

@test "a variant without a right tuning is a failure, one that takes no such case is none" {
  TUNABLE_US=1 must 3 tune tunable:step=5
  expect_out 'no tuning is right here'
  expect_err 'no tuning of tunable:step=5 is right in 1 of 1 cases'
  rm "$TMP/j"
  must 0 tune tunable:step=4
  expect_out 'the variant does not take this case'
}

@test "what cannot be searched is refused before a device is opened" {
  expect_refusal 2 'cpu_flash has nothing to tune: it has no tunables' -- tune --sweep v3 --variant cpu_flash
  expect_refusal 2 'all its tunables are given' -- tune --sweep v3 --variant cp_async:stages=2
  expect_refusal 2 '--variant is missing' -- tune --sweep v3
  expect_refusal 2 'did you mean "split_kv"' -- tune --sweep v3 --variant split_kw
  expect_refusal 2 '--variant: cp_async does not run on this device' -- tune --sweep v3 --variant cp_async --device cpu
  expect_refusal 2 '--budget' -- tune --sweep v3 --variant cp_async --budget 0
}
