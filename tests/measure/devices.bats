# tags: slow asan
# --devices: several cards measure one sweep. The cards are the CPU, under uuids of their own (tests/faults/cards.c).
load ../helper

setup() {
  [ -n "$ATTNBENCH_FAULTY" ] || skip "ATTNBENCH_FAULTY is not set; make test sets it"
  export ATTN_CARDS=3 ATTN_LOST=$TMP/lost
  mkdir "$TMP/lost"
  write_file s.json '{"attnbench_sweep": 1, "name": "cards", "grid": [{"B": [1, 2, 3, 4, 5, 6], "H": 1, "S": 32, "D": 32}]}' >/dev/null
}
cards() { attn_faulty --sweep "$TMP/s.json" --check-only --json "$TMP/r.json" --journal "$TMP/j" "$@"; }
key() { printf 'B%s.H1.Hkv1.Sq32.Skv32.D32.f16.full' "$1"; }
rows() { expect_json "$TMP/r.json" "$1"; }
lines_of() { grep -c "^{\"$1\":" "$TMP/j" || true; }

@test "all cards measure, a case is of one card, and every row names it" {
  must 0 cards --devices all --variants cpu_flash,cpu_ref --csv "$TMP/r.csv" --html "$TMP/r.html"
  expect_no_err
  rows '[c["uuid"] for c in d["cards"]] == ["CARD-0", "CARD-1", "CARD-2"] and d["device"] == d["cards"][0]'
  rows 'd["summary"]["ok"] == 12 and {r["card"] for r in d["results"]} == {"CARD-0", "CARD-1", "CARD-2"}'
  rows 'len({(r["key"], r["card"]) for r in d["results"]}) == 6'
  # In the order of the sweep, though the journal has them as they came.
  rows '[(r["shape"]["B"], r["variant"]) for r in d["results"]] == [(b, v) for b in range(1, 7) for v in ("cpu_flash", "cpu_ref")]'
  # A group is of one card: its baseline is a row of that card.
  rows 'all(len({r["card"] for r in d["results"] if r["key"] in (x["key"], (x["scaling"] or {}).get("baseline_key"))}) == 1
    for x in d["results"])'
  expect_out_matches '^cards     CARD-0: [0-9]+ rows, CARD-1: [0-9]+ rows, CARD-2: [0-9]+ rows$'
  expect_out_matches '^B1\.H1.* on CARD-[0-2]$'
  [ "$(head -n 1 "$TMP/r.csv" | tr -d '\r' | awk -F, '{print $(NF - 4)}')" = card ]
  [ "$(tail -n +2 "$TMP/r.csv" | tr -d '\r' | awk -F, '{print $(NF - 4)}' | sort -u | tr '\n' ' ')" = "CARD-0 CARD-1 CARD-2 " ]
  grep -q '<dt>Cards</dt><dd>CARD-0: ' "$TMP/r.html" || fail "$(grep -o '<dl>.*' "$TMP/r.html" | head -c 600)"
  expect_valid results/report.schema.json "$TMP/r.json"
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  attn report "$TMP/r.json" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
}

@test "large cases come first, unless an order was asked for" {
  first_cases() { grep '^{"cell"' "$TMP/j" | grep -o '"key":"B[0-9]' | tr -dc 0-9; }
  cards --devices 0 --variants cpu_ref
  [ "$(first_cases)" = 654321 ] || fail "$(first_cases)"
  rm "$TMP/j"
  cards --devices 0 --variants cpu_ref --order sweep
  [ "$(first_cases)" = 123456 ] || fail "$(first_cases)"
}

@test "the report of some cards, in any order, is that of one device but for times and cards" {
  must 0 cards --devices 2,0 --order seeded --variants cpu_flash,cpu_ref,scalar
  rows '{r["card"] for r in d["results"]} == {"CARD-0", "CARD-2"} and d["device"]["uuid"] == "CARD-2"'
  local same='[(r["key"], r["variant"], r["status"], r["reason"], r["plan"], (r["check"] or {}).get("max_abs_error")) for r in d["results"]]'
  json "$TMP/r.json" "$same" >"$TMP/cards"
  attn_faulty --sweep "$TMP/s.json" --check-only --device cpu --variants cpu_flash,cpu_ref,scalar --json "$TMP/r.json"
  json "$TMP/r.json" "$same" >"$TMP/one"
  cmp "$TMP/cards" "$TMP/one"
  rows '"cards" not in d and not any("card" in r for r in d["results"])'
}

@test "rounds of a cell are of one card, and its rows are compared on that card alone" {
  need_steady
  export STEADY_US=20
  must 0 attn_faulty --shape S=1x1,B=1,2,3,H=1,D=8 --load "$STEADY" --variants steady --reference none --modes hot --quick \
    --rounds 5 --devices 0,1 --json "$TMP/r.json" --journal "$TMP/j"
  rows 'all(r["processes"]["hot"]["count"] == 5 for r in d["results"])'
  python - "$TMP/j" <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
first = {c["cell"]["key"]: c["cell"]["card"] for c in lines if "cell" in c}
again = [a["again"] for a in lines if "again" in a]
assert len(first) == 3 and len(again) == 12 and all(a["card"] == first[a["key"]] for a in again)
PY
  drop_checksums "$TMP/j"
  # The same rows on one other card each: nothing is said of them.
  sed 's/CARD-0/CARD-X/g; s/CARD-1/CARD-0/g; s/CARD-X/CARD-1/g' "$TMP/j" >"$TMP/moved"
  must 5 attn compare "$TMP/j" "$TMP/moved" --modes hot --json "$TMP/c.json"
  expect_json "$TMP/c.json" '[r["verdict"] for r in d["rows"]] == ["inconclusive"] * 3 and
    all("different cards" in r["reason"] for r in d["rows"])'
  attn compare "$TMP/j" "$TMP/j" --modes hot --json "$TMP/c.json"
  expect_json "$TMP/c.json" 'not any("different cards" in (r["reason"] or "") for r in d["rows"])'
  # A round of another card than the first is damage.
  sed '/^{"again"/s/"card":"CARD-0"/"card":"CARD-1"/' "$TMP/j" >"$TMP/moved"
  must 7 attn report "$TMP/moved"
  expect_err 'begun on another card'
  sed 's/"key":"B1\(.*\)"card":"CARD-[01]"/"key":"B1\1"card":"CARD-9"/' "$TMP/j" >"$TMP/moved"
  must 7 attn report "$TMP/moved"
  expect_err 'names a card that is none of its run'
  sed '/^{"device":.*CARD-1/s/"name":"[^"]*"/"name":"another"/' "$TMP/j" >"$TMP/moved"
  must 7 attn report "$TMP/moved"
  expect_err 'are not of one model'
  sed '/^{"device":.*CARD-1/{p;}' "$TMP/j" >"$TMP/moved"
  must 7 attn report "$TMP/moved"
  expect_err 'CARD-1 is there twice'
}

@test "a card that is lost costs its cell, and the others measure the rest" {
  local only=(--only "$(key 1)/cpu_flash" --only "$(key 2)" --only "$(key 3)/cpu_flash" --only "$(key 4)/cpu_flash")
  must 4 cards --devices all --variants cpu_flash,fault_lost,cpu_ref "${only[@]}"
  expect_err_matches '^attnbench: cuda:[0-2] \(CARD-[0-2]\) is lost, 2 of 3 cards go on: cuda:[0-2]: the card is lost'
  rows '[(r["variant"], r["status"]) for r in d["results"] if r["status"] != "ok"] == [("fault_lost", "error")]'
  rows 'd["summary"]["ok"] == 5 and d["run"]["state"] == "complete"'
  rows 'len({r["card"] for r in d["results"] if r["shape"]["B"] == 2}) == 2'
  expect_valid results/report.schema.json "$TMP/r.json"
}

@test "with all cards lost the run ends with 9, and --resume goes on where they are back" {
  must 9 cards --devices 0,1 --variants cpu_flash,fault_lost
  expect_err '0 of 2 cards go on'
  rows 'd["run"]["state"] == "interrupted" and d["summary"]["error"] == 2'
  rm "$TMP/lost"/*
  must 9 cards --devices 1 --variants cpu_flash,fault_lost --resume
  rows 'd["summary"]["error"] == 3'
  rm "$TMP/lost"/*
  unset ATTN_LOST
  must 4 cards --devices 2,1 --variants cpu_flash,fault_lost --resume
  rows 'd["summary"]["ok"] == 9 and d["summary"]["error"] == 3 and d["run"]["resumed"] == 2'
  rows 'len(d["cards"]) == 3'
  must 4 cards --devices 0 --variants cpu_flash,fault_lost --resume
  [ "$(lines_of resumed)" -eq 2 ] || fail "a whole run is only reported again"
}

@test "later rounds whose card is lost are told, and measured when it is there again" {
  need_steady
  export STEADY_US=20
  local run=(attn_faulty --shape S=1x1,B=1,2,H=1,D=8 --load "$STEADY" --variants steady --reference none --modes hot
    --quick --rounds 2 --journal "$TMP/j" --json "$TMP/r.json")
  "${run[@]}" --devices 0,1
  expect_status 0
  sed -i '/^{"again".*CARD-1/d; /^{"end"/d' "$TMP/j"
  "${run[@]}" --devices 0 --resume
  expect_status 4
  expect_err '1 measurements of later rounds are missing'
  rows 'd["run"]["state"] == "interrupted"'
  "${run[@]}" --devices 1 --resume
  expect_status 0
  rows 'd["run"]["state"] == "complete" and all(r["processes"]["hot"]["count"] == 2 for r in d["results"])'
}

@test "--resume measures what is missing, with --devices as the run began, on cards of the run" {
  must 0 cards --devices all --variants cpu_flash,cpu_ref
  grep -v '^{"end"' "$TMP/j" | head -n -4 >"$TMP/cut"
  cp "$TMP/cut" "$TMP/j"
  printf '{"cell":{"key":"torn' >>"$TMP/j"
  must 0 cards --devices 1,2 --variants cpu_flash,cpu_ref --resume
  [ "$(lines_of cell)" -eq 12 ] && [ "$(lines_of device)" -eq 3 ] || fail "$(cut -c1-80 "$TMP/j")"
  rows 'd["summary"]["ok"] == 12'
  cp "$TMP/cut" "$TMP/j"
  must 6 attn_faulty --sweep "$TMP/s.json" --check-only --device cpu --variants cpu_flash,cpu_ref --journal "$TMP/j" --resume
  expect_err '--devices was given there and is not given here'
}

@test "kills at random moments lose no cell of any card" {
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not here"
  must 0 capture "$ATTN_PYTHON" tests/kill_runs.py "$ATTNBENCH_FAULTY" "${ATTN_KILLS:-6}" --devices 0,1
  need_steady
  STEADY_US=30 must 0 capture "$ATTN_PYTHON" tests/kill_runs.py "$ATTNBENCH_FAULTY" "$((${ATTN_KILLS:-4} / 4))" --devices 0,1 --rounds 2 --load "$STEADY"
}

@test "a signal ends all cards, with a report of what was measured" {
  need_steady
  local signal
  for signal in INT:130 TERM:143; do
    rm -f "$TMP/r.json" "$TMP/r.json.journal" "$TMP/processes"
    STEADY_FILE=$TMP/processes STEADY_AT=1 STEADY_HOW=hang env --default-signal=INT "$ATTNBENCH_FAULTY" \
      --shape S=1x1,B=1,2,3,4,H=1,D=8 --load "$STEADY" --variants cpu_ref,steady --check-only --devices 0,1 --timeout 30 \
      --json "$TMP/r.json" 2>"$ERR" &
    local run=$!
    STEADY_FILE=$TMP/processes STEADY_AT=1 wait_for_hold
    # The other card does all the rest.
    while [ "$(grep -c '^{"cell":' "$TMP/r.json.journal")" -lt 7 ]; do kill -0 "$run"; sleep 0.02; done
    kill "-${signal%:*}" "$run"
    ended "$run" "${signal#*:}"
    rows 'd["run"]["state"] == "interrupted" and d["summary"]["ok"] == 7'
    expect_err "--journal $TMP/r.json.journal --resume"
  done
}

@test "a hang, a crash and a killed worker cost their own cells, on whichever card" {
  must 4 cards --devices 0,1 --timeout 2 --variants fault_crash,fault_hang,fault_exit,cpu_flash --filter B=1,2
  rows '[r["status"] for r in d["results"]] == ["crashed", "timeout", "crashed", "ok"] * 2'
  rows 'all(r["card"] for r in d["results"])'
}

@test "--time-budget leaves out on every card what it has no room for" {
  need_steady
  STEADY_US=150000 must 4 attn_faulty --shape S=1x1,B=1,2,3,4,5,6,H=1,D=8 --load "$STEADY" --variants steady --check-only \
    --devices 0,1 --time-budget 1s --json "$TMP/r.json"
  rows 'd["summary"]["ok"] == 2 and d["summary"]["left_out"] == 4'
  rows '{r["card"] for r in d["results"] if r["status"] == "ok"} == {"CARD-0", "CARD-1"} and all(r["card"] for r in d["results"])'
}

@test "lists that are none, cards that are not there, and options of one device are refused" {
  refused() {
    attn_faulty --sweep "$TMP/s.json" --variants cpu_ref --devices "${@:3}"
    expect_status "$1"
    expect_err "$2"
    expect_no_out
  }
  refused 2 'named twice' 0,0
  refused 2 'no list of cards' 0,
  refused 2 'needs a value' ''
  refused 2 'no list of cards' cuda:0
  refused 2 'no list of cards' -1
  refused 2 'at most 16 cards' 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16
  refused 77 'no CUDA device 3' 0,3
  refused 2 'both given' 0 --device cpu
  refused 2 '--baseline' 0 --baseline x
  refused 2 '--profile' 0 --profile
  refused 2 '--sentinel' 0 --sentinel 5
  refused 2 '--shard' 0 --shard 1/2
  ATTN_CARDS=17 refused 2 'at most 16 cards' all
}
