# tags: slow asan
load ../helper

@test "an injected slowdown is in the row, its journal and its report, and the row is still checked" {
  # On a busy machine other work can hide a delay of microseconds; it does not do so five times in a row.
  for _ in 1 2 3 4 5; do
    rm -f "$TMP/j"
    must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_ref,cpu_flash \
      --inject-slowdown '*.full/cpu_flash:400' --json "$TMP/r.json" --journal "$TMP/j"
    [ "$(json "$TMP/r.json" 'all(min(r["injected"]["hot_ratio"], r["injected"]["cold_ratio"]) > 2
      for r in d["results"] if "injected" in r)')" = false ] || break
  done
  expect_valid results/report.schema.json "$TMP/r.json"
  python scripts/proof/validate_report.py "$TMP/r.json"
  expect_json "$TMP/r.json" '[(r["key"].endswith("full"), r["variant"]) for r in d["results"] if "injected" in r]
    == [(True, "cpu_flash")]'
  expect_json "$TMP/r.json" 'all(r["injected"]["percent"] == 400 and r["injected"]["hot_ratio"] > 2
    and r["injected"]["cold_ratio"] > 2 for r in d["results"] if "injected" in r)'
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" and r["check"]["after_timing"] for r in d["results"])'
  grep -c '"injected"' "$TMP/j" | grep -qx 1
  attn report "$TMP/j" --json "$TMP/again.json"
  cmp "$TMP/r.json" "$TMP/again.json"
  attn diagnose "$TMP/r.json" --json "$TMP/derived.json"
  expect_json "$TMP/derived.json" 'sum("injected" in r for r in d["results"]) == 1'
  attn report "$TMP/j"
  expect_out '1 of these rows slowed down on purpose (--inject-slowdown)'
}

@test "without it no row says anything of a slowdown" {
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_flash --json "$TMP/r.json" --journal "$TMP/j"
  ! grep -q injected "$TMP/r.json" "$TMP/j"
}

@test "a slowdown that is put in nowhere is a usage error" {
  expect_refusal 2 'matches none of the cells' -- --sweep tests/data/sweeps/tiny.json --device cpu \
    --inject-slowdown '*/wmma:3'
}
@test "a slowdown needs a glob and a percentage" {
  expect_refusal 2 'not GLOB:PERCENT' -- --sweep tests/data/sweeps/tiny.json --inject-slowdown 3
  expect_refusal 2 'not a percentage' -- --sweep tests/data/sweeps/tiny.json --inject-slowdown '*:fast'
}
@test "a slowdown without times is a usage error" {
  expect_refusal 2 '--check-only takes no times' -- --sweep tests/data/sweeps/tiny.json --inject-slowdown '*:3' --check-only
}
