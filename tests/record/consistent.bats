# tags: asan
load ../helper

# What a saved file says must be possible on its device, and follow from what else it says.

@test "a saved time below the shape's floor is implausible in report, diagnose and compare: exit 4" {
  local base=tests/data/gate_h200.json
  python - "$base" "$TMP/fast.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
row = report["results"][0]
row["time"]["hot"].update({key: us * 0.02 for key, us in row["time"]["hot"].items() if key.endswith("_us")})
row["processes"]["hot"]["median_us"] = [us * 0.02 for us in row["processes"]["hot"]["median_us"]]
later = report["results"][1]["processes"]["cold"]["median_us"]
later[3] *= 0.02
json.dump(report, open(sys.argv[2], "w"))
PY
  must 4 attn report "$TMP/fast.json" --json "$TMP/r.json"
  expect_err '2 of 20 cells failed (2 implausible), first: B1.H8.Hkv8.Sq512.Skv512.D64.f16.full mma_swizzle: hot median of 0.197 us is below 0.546 us'
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]].count("implausible") == 2'
  must 4 attn diagnose "$TMP/fast.json"
  must 4 attn report "$base" "$TMP/fast.json"
  must 4 attn compare "$base" "$TMP/fast.json"
  expect_out 'implausible'
  expect_out 'hot median of 0.197 us is below 0.546 us'
  must 4 attn compare "$TMP/fast.json" "$base"
  expect_out 'in the base: hot median of 0.197 us'
}

@test "a saved row whose launches skipped work on inputs seen before is implausible" {
  must 0 attn report results/h200/v3.journal --json "$TMP/a.json"
  drop_checksums "$TMP/a.json"
  python - "$TMP/a.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
report["results"][0]["check"]["evidence"]["changed_us"] = 1e6
json.dump(report, open(sys.argv[1], "w"))
PY
  must 4 attn report "$TMP/a.json"
  expect_err 'launches on inputs that were seen before skip work'
  must 4 attn compare "$TMP/a.json" "$TMP/a.json"
}

# Each line of a list of tests/tamper.py is FILE, the kind of change, and what was changed.
refused() { [ "$status" -eq 4 ] || [ "$status" -eq 6 ] || [ "$status" -eq 7 ]; }

# all_refused AT-LEAST: every change in $TMP/list, of which there are as many, by compare beside $TMP/base.json and, unless
# it takes the base to see it, by report and diagnose. The base itself is fine.
all_refused() {
  local file kind what verb passed=""
  [ "$(wc -l <"$TMP/list")" -ge "$1" ] || fail "too few changes: $(wc -l <"$TMP/list")"
  must 0 attn report "$TMP/base.json"
  while IFS=$'\t' read -r file kind what; do
    attn compare "$TMP/base.json" "$file"
    refused || passed+="$what (compare: $status)"$'\n'
    [ "$kind" = alone ] || continue
    for verb in report diagnose; do
      attn "$verb" "$file"
      refused || passed+="$what ($verb: $status)"$'\n'
    done
  done <"$TMP/list"
  [ -z "$passed" ] || fail "$passed"
}

@test "a report that contradicts itself, its device or the base does not pass" {
  attn report results/h200/v3.journal --json "$TMP/v3.json"
  python tests/tamper.py --contradictions "$TMP/v3.json" "$TMP" >"$TMP/list"
  must 0 attn compare "$TMP/base.json" "$TMP/base.json"
  all_refused 145
}

@test "steady times that contradict their power, their reference or their rate do not pass" {
  attn report results/h200/steady.journal --json "$TMP/steady.json"
  python tests/tamper.py --steady "$TMP/steady.json" "$TMP" >"$TMP/list"
  all_refused 5
}

@test "what only a GPU has does not pass in a report of a CPU" {
  must 0 attn --shape B=1,H=1,S=16,D=16 --variants cpu_ref,cpu_flash --reference cpu_ref --device cpu --rounds 2 --quick --json "$TMP/cpu.json"
  python tests/tamper.py --cpu "$TMP/cpu.json" "$TMP" >"$TMP/list"
  all_refused 9
}

@test "a journal whose rounds and samples contradict what it says does not pass" {
  local file kind what passed="" sweep
  sweep=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 16, "D": 16}],
    "variants": ["cpu_ref", "cpu_flash"]}')
  must 0 attn --sweep "$sweep" --device cpu --reference cpu_ref --rounds 3 --samples --quick --journal "$TMP/j"
  python tests/tamper.py --journal "$TMP/j" "$TMP" >"$TMP/list"
  must 0 attn report "$TMP/same.journal"
  [ "$(wc -l <"$TMP/list")" -ge 25 ] || fail "too few changes: $(wc -l <"$TMP/list")"
  while IFS=$'\t' read -r file kind what; do
    attn report "$file"
    refused || passed+="$what: $status"$'\n'
  done <"$TMP/list"
  [ -z "$passed" ] || fail "$passed"
}
