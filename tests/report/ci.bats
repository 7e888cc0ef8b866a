# tags: asan
# A plain run for a CI: JUnit XML, Markdown and annotations of its rows.
load ../helper

@test "a run and its journal give JUnit and Markdown of every row, and annotations of those that failed" {
  must 3 attn_faulty --sweep tests/data/sweeps/tiny.json --device cpu --check-only --variants cpu_flash,fault_skip_head,serial --quiet \
    --journal "$TMP/j" --junit "$TMP/r.xml" --markdown "$TMP/r.md" --annotations "$TMP/r.txt"
  attn report "$TMP/j" --quiet --junit "$TMP/2.xml" --markdown - --annotations "$TMP/2.txt"
  cmp "$TMP/r.txt" "$TMP/2.txt"
  [ "$(grep -c '^::error file=tests/data/sweeps/tiny.json,line=1,title=attnbench%3A wrong::B1.*fault_skip_head: ' "$TMP/r.txt")" = 2 ] || fail "$(cat "$TMP/r.txt")"
  [ "$(wc -l <"$TMP/r.txt")" = 2 ] || fail "$(cat "$TMP/r.txt")"
  cmp "$TMP/r.xml" "$TMP/2.xml"
  cmp "$TMP/r.md" "$OUT"
  python - "$TMP/r.xml" <<'PY'
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot()
suite = suites[0]
counts = {key: int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")}
assert counts == {"tests": 7, "failures": 2, "errors": 0, "skipped": 2}, counts
assert {key: int(suites.get(key)) for key in counts} == counts
cases = [(c.get("classname"), c.get("name"), [(e.tag, e.get("type"), bool(e.get("message"))) for e in c]) for c in suite]
assert cases[0][1:] == ("complete", [])
assert all(elements == {"cpu_flash": [], "fault_skip_head": [("failure", "wrong", True)], "serial": [("skipped", None, True)]}[name.split(".")[1]]
           for name, _, elements in cases[1:]), cases
PY
  grep -q '^\*\*attnbench failed\*\*$' "$TMP/r.md"
  [ "$(grep -c '^| B1' "$TMP/r.md")" = 6 ] || fail "$(cat "$TMP/r.md")"
  [ "$(grep -c '^- B1.*fault_skip_head: wrong: ' "$TMP/r.md")" = 2 ] || fail "$(cat "$TMP/r.md")"
}

@test "a run that did not come to its end is an error, whatever its rows are" {
  attn --sweep tests/data/sweeps/tiny.json --device cpu --quick --variants cpu_flash --quiet --journal "$TMP/j"
  head -n 4 "$TMP/j" >"$TMP/cut"
  attn report "$TMP/cut" --quiet --junit "$TMP/r.xml" --markdown "$TMP/r.md" --annotations "$TMP/r.txt"
  grep -q 'title=attnbench%3A incomplete::[01] of 2 cells' "$TMP/r.txt" || fail "$(cat "$TMP/r.txt")"
  grep -q '<error type="incomplete" message="[01] of 2 cells' "$TMP/r.xml" || fail "$(cat "$TMP/r.xml")"
  grep -q '^\*\*attnbench failed\*\*$' "$TMP/r.md" || fail "$(cat "$TMP/r.md")"
}

@test "with a baseline both are of the comparison" {
  # The fewest processes that a comparison takes; a tree with changes is no reason to refuse it here.
  attn --shape B=1,H=1,S=16,D=16,f32 --device cpu --quick --rounds 5 --modes hot --variants cpu_ref --quiet --json "$TMP/base.json"
  drop_checksums "$TMP/base.json"
  sed -i 's/+dirty//' "$TMP/base.json"
  attn --shape B=1,H=1,S=16,D=16,f32 --device cpu --quick --rounds 5 --modes hot --variants cpu_ref --quiet --baseline "$TMP/base.json" \
    --junit "$TMP/c.xml" --markdown "$TMP/c.md"
  grep -q '<testsuites name="attnbench gate"' "$TMP/c.xml" || fail "no comparison"
  grep -q 'attnbench gate' "$TMP/c.md"
}

@test "annotations are at most ten, and the last counts the rest" {
  "$ATTNBENCH" --shape B=1,2,3,H=1,2,4,8,S=8,D=8 --device cpu --check-only --variants cpu_ref --quiet --journal "$TMP/j"
  drop_checksums "$TMP/j"
  sed 's/"status":"ok"/"status":"error","reason":"said: 50 %\\nand more"/' "$TMP/j" >"$TMP/failed"
  attn report "$TMP/failed" --annotations -
  [ "$(grep -c '^::error title=' "$OUT")" = 9 ] || fail "$(cat "$OUT")"
  expect_out 'said: 50 %25%0Aand more'
  [ "$(tail -n 1 "$OUT")" = '::error title=attnbench::and 4 more of 12 rows failed' ] || fail "$(cat "$OUT")"
}

@test "no text of a report becomes a command of the runner or drives a terminal, whatever is printed of it" {
  attn --shape B=1,H=1,2,S=16,D=16,f32 --device cpu --quick --rounds 5 --modes hot --variants cpu_ref,cpu_flash --quiet --json "$TMP/r.json"
  sed -i 's/+dirty//' "$TMP/r.json"
  python tests/hostile_texts.py "$ATTNBENCH" "$TMP/r.json" "$TMP" >"$OUT" || fail "lines that no report may have"
  # A path is a text of any kind too.
  must 7 attn report $'::stop-commands::z\n::error::y \xc2\x85 ##[error]'
  refute_err '##['
  expect_err_lines 1
}
