# shellcheck shell=bash
# Loaded by the tests of the library of wrong kernels, tests/faults/wrong.h.

# bugs FIRST LAST: the bugs between two names, as variants of the program: wrong:bug=N,...
bugs() {
  grep -oP '^  X\(\K\w+' tests/faults/wrong.h | awk -v first="$1" -v last="$2" '
    $1 == first { on = 1 }
    on { printf "%swrong:bug=%d", comma, NR - 1; comma = "," }
    $1 == last { exit }'
}

# name_of VARIANT: prints the name of the bug that it has.
name_of() { grep -oP '^  X\(\K\w+' tests/faults/wrong.h | sed -n "$((${1#*=} + 1))p"; }

# expect_each_wrong SWEEP FIRST LAST [CONDITION]: every bug from FIRST to LAST has to be wrong in at least one case of the sweep,
# and the kernel without a bug ok in every case. CONDITION is a Python expression over a row r, true of every wrong row. A
# bug that was found is not measured in the next cases, since checking takes as long for each kernel: a sweep names the cases
# first that find most in the least time.
# shellcheck disable=SC2154 # status is set by attn_faulty
expect_each_wrong() {
  local left case variant
  IFS=, read -ra left <<<"$(bugs "$2" "$3")"
  rm -f "$TMP"/case*.json
  python - "tests/data/sweeps/$1.json" "$TMP" <<'PY'
import json, sys
sweep = json.load(open(sys.argv[1]))
for number, shape in enumerate(sweep["shapes"]):
    json.dump({**sweep, "shapes": [shape]}, open(f"{sys.argv[2]}/case{number:02}.json", "w"))
PY
  for case in "$TMP"/case*.json; do
    attn_faulty --sweep "$case" --device cpu --check-only --json "$TMP/r.json" --variants "wrong$(printf '%s' "${left[@]/#/,}")"
    [ "$status" = 0 ] || expect_status 3
    [[ $case != */case00.json ]] || expect_valid results/report.schema.json "$TMP/r.json"
    python - "$TMP/r.json" "${4:-True}" >"$TMP/left" <<'PY' || fail "not true of the rows of $case"
import json, sys
rows = json.load(open(sys.argv[1]))["results"]
assert rows and rows[0]["variant"] == "wrong" and rows[0]["status"] == "ok", rows[0]
evidence = rows[0]["check"]["evidence"]
assert evidence["hard_ratio"] < 0.8 and evidence["max_row_ratio"] < 0.8, evidence
for r in rows[1:]:
    assert r["status"] != "wrong" or eval(sys.argv[2]), r
    if r["status"] != "wrong":
        print(r["variant"])
PY
    mapfile -t left <"$TMP/left"
  done
  for variant in "${left[@]}"; do echo "not seen: $(name_of "$variant")"; done
  [ "${#left[@]}" -eq 0 ]
}
