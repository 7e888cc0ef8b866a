# tags: slow asan
# Long runs: the order of the cells, a time budget, a sentinel.
load ../helper

cells_of() { sed -nE 's/^\{"cell":\{"key":"([^"]*)","variant":"([^"]*)".*/\1\/\2/p' "$@"; }
# A run of four cells that take a few tenths of a second each. By the work of the smaller ones the largest is expected
# to take a hundred times as long as they do, which is more than any budget here.
steady() {
  attn --shape B=1000,3,2,1,H=2,S=1,D=8 --variants steady --device cpu --load "$STEADY" --quick --modes hot --reference none \
    --journal "$TMP/j" --json "$TMP/r.json" --resume "$@"
}

@test "cells are measured in a random order that the seed decides, and reported in the sweep's" {
  local run=(--shape "B=1,2,H=2,S=1,3,5,D=8" --device cpu --check-only --variants cpu_flash,cpu_ref)
  attn "${run[@]}" --journal "$TMP/plain" --json "$TMP/plain.json"
  must 0 attn "${run[@]}" --order seeded --journal "$TMP/1" --json "$TMP/1.json"
  attn "${run[@]}" --order seeded --journal "$TMP/again" --quiet
  attn "${run[@]}" --order seeded --seed 2 --journal "$TMP/2" --quiet
  cmp <(cells_of "$TMP/1") <(cells_of "$TMP/again") || fail "the same seed, another order"
  ! cmp -s <(cells_of "$TMP/1") <(cells_of "$TMP/2") || fail "another seed, the same order"
  ! cmp -s <(cells_of "$TMP/1") <(cells_of "$TMP/plain") || fail "not at random"
  cmp <(cells_of "$TMP/1" | sort) <(cells_of "$TMP/plain" | sort) || fail "other cells"
  expect_json "$TMP/1.json" 'd["run"]["order"] == "seeded"'
  expect_valid results/report.schema.json "$TMP/1.json"
  for file in plain 1; do json "$TMP/$file.json" '[(r["key"], r["variant"]) for r in d["results"]]'; done | uniq | wc -l |
    grep -qx 1 || fail "the report is not in the order of the sweep"
  # A journal cut off in the middle goes on, and its report has the same order.
  sed -i '/^{"end":/d' "$TMP/1"
  sed -i '$d' "$TMP/1"
  must 0 attn "${run[@]}" --order seeded --journal "$TMP/1" --resume --json "$TMP/1.json"
  cmp <(cells_of "$TMP/1") <(cells_of "$TMP/again") || fail "goes on in another order"
}

@test "a time budget takes the shortest cells, reports the others as left out, and a later run measures them" {
  need_steady
  export STEADY_US=30
  must 4 steady --time-budget 1s --sentinel 1
  expect_err "left_out), first: "
  expect_out "left_out"
  expect_json "$TMP/r.json" '[r["shape"]["B"] for r in d["results"]] == [1000, 3, 2, 1] and d["results"][3]["status"] == "ok"'
  expect_json "$TMP/r.json" 'd["results"][0]["status"] == "left_out" and "--time-budget 1s has no room" in d["results"][0]["reason"]'
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == sorted((r["status"] for r in d["results"]))'
  expect_json "$TMP/r.json" 'd["run"]["time_budget_s"] == 1 and d["run"]["order"] == "shortest" and d["run"]["state"] == "complete"'
  expect_valid results/report.schema.json "$TMP/r.json"
  attn report "$TMP/r.json" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  local before
  before=$(grep -c '^{"sentinel":' "$TMP/j")
  must 0 steady --sentinel 1
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] * 4'
  [ "$(cells_of "$TMP/j" | sort | uniq -c | awk '$1 > 2' | wc -l)" -eq 0 ] || fail "a cell was measured again"
  # The sentinel is the first cell that was timed, also of the part that went on.
  expect_out_matches '^sentinel: steady of B1\..*, measured [0-9]+ times; hot .* us at first, .* at last \(x '
  expect_json "$TMP/r.json" "d['run']['sentinel']['key'].startswith('B1.') and d['run']['sentinel']['count'] > $before"
  expect_json "$TMP/r.json" 'd["run"]["sentinel"]["hot"]["min_us"] <= d["run"]["sentinel"]["hot"]["first_us"] and d["run"]["sentinel"]["cold"]["first_us"] is None'
  expect_valid results/report.schema.json "$TMP/r.json"
  drop_checksums "$TMP/j"
  sed -i '0,/^{"sentinel":{"key":"B1/s//{"sentinel":{"key":"B2/' "$TMP/j"
  expect_refusal 7 'sentinel: is another cell than before' -- report "$TMP/j"
}

@test "times are given with their unit, within limits" {
  local it
  for it in 1d 2x h '1 h' nan; do expect_refusal 2 "is not a time" -- --sweep v3 "--time-budget=$it"; done
  expect_refusal 2 'is too short; give 1 s to 8760 h' -- --sweep v3 --time-budget 0.5s
  expect_refusal 2 'is too long' -- --sweep v3 --time-budget 8761h
  expect_refusal 2 'is too long; give 0.1 s to 1 h' -- --sweep v3 --cool-down 61min
  expect_refusal 2 '--sentinel 0 is too few' -- --sweep v3 --sentinel 0
  expect_refusal 2 '--order fast is not one of' -- --sweep v3 --order fast
}
