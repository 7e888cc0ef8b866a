# tags: slow asan
# What the formats of a comparison promise to the programs that read them, over the golden files of
# tests/gate/unit_compare_sinks.c.
load ../helper

SCENES="mixed lenient unlike empty many"

@test "every comparison in JSON is as its schema and its rows say" {
  for scene in $SCENES; do
    python scripts/proof/validate_report.py "tests/data/compare_$scene.json" || fail "$scene"
  done
}

@test "a comparison that contradicts itself is not valid" {
  need_jsonschema
  local change
  while read -r change; do
    python -c '
import json, sys
d = json.load(open("tests/data/compare_mixed.json"))
exec(sys.argv[1])
json.dump(d, open(sys.argv[2], "w"))' "$change" "$TMP/changed.json"
    must 1 capture python scripts/proof/validate_report.py "$TMP/changed.json"
    expect_err changed.json
  done <<'CHANGES'
d["summary"]["exit_code"] = 1
d["summary"]["compared"] += 1
d["rows"].pop()
d["rows"].append(d["rows"][0])
d["rows"][0]["verdict"] = "fine"
d["rows"][0]["base"]["median_us"] = "21"
d["identity"]["comparable"] = False
d["schema"] = "attnbench.compare/2"
del d["settings"]["paired"]
CHANGES
}

@test "JUnit files are XML and count their own cases" {
  for scene in $SCENES; do
    python - "tests/data/compare_$scene.xml" <<'READ' || fail "$scene"
import sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
cases = list(root.iter("testcase"))
for element in [root, *root.iter("testsuite")]:
    counts = [int(element.get(name)) for name in ("tests", "failures", "errors", "skipped")]
    found = [len(cases), *(sum(case.find(tag) is not None for case in cases) for tag in ("failure", "error", "skipped"))]
    assert counts == found, (counts, found)
assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
for case in cases:
    assert float(case.get("time")) >= 0 and len(case) <= 1
READ
  done
}

@test "a text of any origin comes out of JUnit as it went in" {
  python - tests/data/compare_mixed.xml <<'READ' || fail "the message changed"
import sys
import xml.etree.ElementTree as tree
messages = [error.get("message") for error in tree.parse(sys.argv[1]).getroot().iter("error")]
nasty = [text for text in messages if "::error::" in text]
assert len(nasty) == 1
assert nasty[0].startswith("crashed: <b>&amp;\"q\" 'a' %25 ::error:: ##[error] |x| `c` *s* [l](u) a,b\r\n\t\ufffd\ufffd[31m\ufffd é→🚀 ")
READ
}

@test "every table in Markdown has as many cells in each row as in its heading" {
  for scene in $SCENES; do
    python - "tests/data/compare_$scene.md" <<'READ' || fail "$scene"
import re
import sys
width, tables = None, 0
for line in open(sys.argv[1], encoding="utf-8"):
    if not line.startswith("|"):
        width = None
        continue
    cells = len(re.findall(r"(?<!\\)\|", line)) - 1
    tables += width is None
    width = width or cells
    assert cells == width, line
assert tables >= 1
READ
  done
}

@test "annotations are workflow commands and nothing else" {
  for scene in $SCENES; do
    ! grep -vE '^::(error|warning) (file=[^:,]+,line=1,)?title=[^:,]+::.' "tests/data/compare_$scene.annotations" ||
      fail "$scene"
  done
}
