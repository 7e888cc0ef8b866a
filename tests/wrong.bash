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
# bug that was found is not measured in the next cases, since checking takes as long for each kernel.
# shellcheck disable=SC2154 # status is set by attn_faulty
expect_each_wrong() {
  local left number count variant
  IFS=, read -ra left <<<"$(bugs "$2" "$3")"
  count=$(json "tests/data/sweeps/$1.json" 'len(d["shapes"])')
  for ((number = 0; number < count; ++number)); do
    python -c 'import json, sys
sweep = json.load(open(sys.argv[1]))
sweep["shapes"] = [sweep["shapes"][int(sys.argv[2])]]
json.dump(sweep, open(sys.argv[3], "w"))' "tests/data/sweeps/$1.json" "$number" "$TMP/case.json"
    attn_faulty --sweep "$TMP/case.json" --device cpu --check-only --json "$TMP/r.json" \
      --variants "wrong$(printf ',%s' "${left[@]}")"
    [ "$status" = 0 ] || expect_status 3
    expect_valid results/report.schema.json "$TMP/r.json"
    expect_json "$TMP/r.json" 'all(r["status"] == "ok" and r["check"]["evidence"]["hard_ratio"] < 0.8
      and r["check"]["evidence"]["max_row_ratio"] < 0.8 for r in d["results"] if r["variant"] == "wrong")'
    expect_json "$TMP/r.json" "all(${4:-True} for r in d['results'] if r['status'] == 'wrong')"
    mapfile -t left < <(python -c 'import json, sys
for row in json.load(open(sys.argv[1]))["results"]:
    if row["variant"] != "wrong" and row["status"] != "wrong":
        print(row["variant"])' "$TMP/r.json")
    [ "${#left[@]}" -gt 0 ] || return 0
  done
  for variant in "${left[@]}"; do echo "not seen: $(name_of "$variant")"; done
  return 1
}
