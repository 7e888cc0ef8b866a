load ../helper

# bounds NAME: the report of results/h200/NAME.journal in $TMP: text, JSON, Markdown, HTML and CSV.
bounds() {
  must 0 attn report "results/h200/$1.journal" --json "$TMP/r.json" --csv "$TMP/r.csv" --html "$TMP/r.html" --markdown "$TMP/r.md"
}

@test "every timed row of a GPU says what bounds it, in every output" {
  bounds v3
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(("bound_by" in r) == (r["status"] == "ok") for r in d["results"])'
  local cases
  cases=$(json "$TMP/r.json" 'len({r["key"] for r in d["results"]})')
  grep -q 'what bounds the fastest row of each case' "$OUT" || fail "the text report has no bounds"
  [ "$(grep -cE '^  B[0-9].* \((hot|cold|steady)\): ' "$OUT")" = "$cases" ] || fail "not one line per case"
  [ "$(grep -cE '^- .* \((hot|cold|steady)\): ' "$TMP/r.md")" = "$cases" ] || fail "Markdown: not one line per case"
  grep -q 'What bounds the fastest row of each case' "$TMP/r.html" || fail "HTML has no bounds"
  head -n 1 "$TMP/r.csv" | grep -qE 'bound_by_limit,bound_by_ratio,bound_by_text,.*,card,commit,date,driver,version.?$' || fail "CSV has no bounds"
}

@test "a bound is derived: a named limit takes 60 % and more, and none is named where none does" {
  local journal
  for journal in v3 prefill decode mission; do
    bounds "$journal"
    expect_json "$TMP/r.json" 'all(b["ratio"] >= 0.6 for r in d["results"] for b in [r.get("bound_by")]
      if b and b["limit"] in ("products", "exponentials", "shared", "l2", "bytes", "launch"))'
    expect_json "$TMP/r.json" 'all(b["ratio"] < 0.6 and "no limit reaches 60 %: " in b["text"] for r in d["results"]
      for b in [r.get("bound_by")] if b and b["limit"] == "none")'
  done
}

@test "long prefill at D=128 is bounded by wgmma at its clock, long decode by bytes, short cases by a chain" {
  bounds prefill
  expect_json "$TMP/r.json" '[r["bound_by"]["limit"] for r in d["results"] if r["variant"] == "wgmma"
    and "Sq16384.Skv16384.D128.f16.full" in r["key"]][0] == "products"'
  bounds decode
  expect_json "$TMP/r.json" '{r["bound_by"]["limit"] for r in d["results"] if r["variant"] == "decode"
    and r["shape"]["Skv"] >= 65536 and r["shape"]["Sq"] == 1} == {"bytes"}'
  bounds v3
  expect_json "$TMP/r.json" '[r["bound_by"]["limit"] for r in d["results"] if r["variant"] == "cluster_split"
    and r["shape"]["B"] == 1] == ["chain"]'
}

@test "describe bound_by names every limit of the schema" {
  must 0 attn describe bound_by
  local limit
  for limit in none products exponentials shared l2 bytes power chain launch; do
    grep -q "^$limit " "$OUT" || fail "describe bound_by lacks $limit"
  done
}
