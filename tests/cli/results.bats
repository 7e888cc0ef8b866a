load helper

@test "committed reports and README's figures are what the committed journals say" {
  capture python scripts/results/update_results.py --check
  expect_status 0
}

# Shipped sweeps that have not been measured on results/h200's GPU yet. A sweep leaves this list with its journal.
UNMEASURED=""

@test "every committed report is valid, complete and right" {
  local count=0 report
  for report in results/*/*.journal results/*/torch_*.json; do
    report=${report%.journal}
    report=${report%.json}.json
    python scripts/proof/validate_report.py "$report"
    expect_json "$report" 'd["run"]["state"] == "complete" and d["summary"]["exit_code"] == 0
      and d["summary"]["ok"] + d["summary"]["skipped"] == d["summary"]["cells"] == d["run"]["cells"]'
    count=$((count + 1))
  done
  [ "$count" -ge 6 ] || fail "only $count reports"
}

@test "there is a report for every shipped sweep, made from the sweep as it is" {
  for sweep in shapes/*.json; do
    name=$(basename "$sweep" .json)
    report=results/h200/$name.json
    if [[ " $UNMEASURED " == *" $name "* ]]; then
      [ ! -e "results/h200/$name.journal" ] || fail "$name is measured: take it off UNMEASURED"
      continue
    fi
    # The gate's own report is its baseline, which is there once one was promoted.
    if [ "$name" = gate ]; then
      report=results/h200/baseline/gate.json
      [ -e "$report" ] || continue
    fi
    attn plan --sweep "$sweep" --gpu h200 --json "$TMP/plan.json"
    [ "$(json "$TMP/plan.json" 'd["sweep"]["hash"]')" = "$(json "$report" 'd["sweep"]["hash"]')" ] ||
      fail "$report was measured with another $sweep"
  done
}

@test "PyTorch was measured over the sweeps as they are" {
  for report in results/*/torch_*.json; do
    name=$(basename "$report" .json)
    attn plan --sweep "shapes/${name#torch_}.json" --gpu h200 --json "$TMP/plan.json"
    [ "$(json "$TMP/plan.json" 'd["sweep"]["hash"]')" = "$(json "$report" 'd["sweep"]["hash"]')" ] ||
      fail "$report was measured with another sweep"
  done
}

# A copy of what the pages are made from, to be spoilt; the script of the copy runs on the copy.
copy_tree() {
  mkdir "$TMP/copy"
  cp -r README.md results scripts "$TMP/copy"
}
update_copy() { ATTNBENCH=$ATTNBENCH PYTHONDONTWRITEBYTECODE=1 capture python "$TMP/copy/scripts/results/update_results.py" "$@"; }

@test "a figure in README that no report holds is seen" {
  copy_tree
  sed -i '/<!-- begin v3-output -->/,/<!-- end v3-output -->/s/scalar /scaler /' "$TMP/copy/README.md"
  update_copy --check
  expect_status 1
  expect_out 'differs: README.md'
}

@test "a figure typed into the results page is seen" {
  copy_tree
  sed -i '0,/us |/s//us  |/' "$TMP/copy/results/h200/README.md"
  update_copy --check
  expect_status 1
  expect_out 'differs: results/h200/README.md'
}

@test "a plot that was drawn from other reports is seen without drawing it, as is one that nothing makes" {
  copy_tree
  plots=$TMP/copy/results/h200/plots
  sed -i 's/drawn from sha256:...../drawn from sha256:00000/' "$plots/roofline.svg"
  cp "$plots/scaling.svg" "$plots/old.svg"
  update_copy --check
  expect_status 1
  expect_out 'differs: results/h200/plots/roofline.svg'
  expect_out 'differs: results/h200/plots/old.svg'
  refute_out 'scaling.svg'
}

@test "tables of other scripts become sections, and a row with a cell missing is an error that names it" {
  copy_tree
  gpu=$TMP/copy/results/h200
  cat >"$gpu/gate.json" <<'JSON'
{"schema": "attnbench.table/1", "title": "Rates of the gate", "about": "From a test.",
 "columns": ["what", {"name": "rate", "align": "right"}], "rows": [["false | alarms", 0.00123456], ["found", null], ["said", true]],
 "notes": ["a note"], "tables": [{"title": "More", "columns": ["n"], "rows": [[7]]}], "raw": [1, 2]}
JSON
  printf '<!-- begin gate-rates -->\n<!-- end gate-rates -->\n' >>"$TMP/copy/README.md"
  update_copy
  expect_status 0
  expect_no_err
  for page in "$gpu/README.md" "$TMP/copy/README.md"; do
    grep -qF '| false \| alarms | 0.001235 |' "$page" || fail "$page lacks the first row"
    grep -qF '| said | yes |' "$page" || fail "$page lacks the truth"
    grep -qF -- '- a note' "$page" || fail "$page lacks the note"
    grep -qF '| 7 |' "$page" || fail "$page lacks the second table"
  done
  grep -qF '## Rates of the gate' "$gpu/README.md" || fail "no heading"
  sed -i 's/\["found", null\]/["found"]/' "$gpu/gate.json"
  update_copy --check
  expect_status 7
  expect_err 'gate.json: row 1 has 1 cells for 2 columns'
}

# refused STATUS TEXT [OPTION...]: the copy's script says TEXT in a line.
refused() {
  update_copy "${@:3}"
  expect_status "$1"
  expect_err "$2"
  expect_err_lines 1
}

@test "what the page cannot be made from is an error that names it, and nothing is written" {
  copy_tree
  gpu=$TMP/copy/results/h200
  cp "$TMP/copy/README.md" "$TMP/readme"
  cp "$gpu/ladder.json" "$TMP/ladder.json"
  while IFS='|' read -r change text; do
    sed "$change" "$TMP/ladder.json" >"$gpu/ladder.json"
    refused 7 "$text" --check
  done <<'TABLE'
s/attnbench.ladder.1/attnbench.report\/1/|ladder.json: not predictions
s/"sources"/"source"/|has no "sources"
0,/"what"/s//"that"/|has no "what"
0,/"predicted": \[/s//"predicted": [null, /|predictions for 3 cases
0,/"over": "[^"]*"/s//"over": "nobody"/|is over nobody, which is no rung of this ladder
0,/\[1.85, 1.85\]/s//"fast"/|fast is no prediction
TABLE
  cp "$TMP/ladder.json" "$gpu/ladder.json"
  sed -i 's/-- end headline --/-- headline --/' "$TMP/copy/README.md"
  refused 7 'README.md: block headline has no <!-- end headline -->' --check
  cp "$TMP/readme" "$TMP/copy/README.md"
  ATTNBENCH=$TMP/nothing refused 9 "$TMP/nothing: cannot be run"
  printf '\xff' >>"$gpu/README.md"
  refused 7 "$gpu/README.md: 'utf-8'"
  cp results/h200/README.md "$gpu/README.md"
  for table in '[]' '{"schema": "attnbench.table/1"}'; do
    echo "$table" >"$gpu/counters.json"
    refused 7 'h200/counters.json: not a table'
  done
  echo '{"schema": "attnbench.table/1", "title": "t", "rows": [[1]]}' >"$gpu/counters.json"
  refused 7 'h200/counters.json: has "rows" without "columns"'
  cmp "$TMP/readme" "$TMP/copy/README.md" || fail "README.md was written"
}

@test "a block of README whose report is gone is an error, not an old figure" {
  copy_tree
  rm "$TMP/copy/results/h200/gate.json"
  refused 7 'README.md: nothing makes its block gate-rates' --check
}

@test "a plot that cannot be drawn leaves everything as it is" {
  copy_tree
  sed -i 's/drawn from sha256:...../drawn from sha256:00000/' "$TMP/copy/results/h200/plots/roofline.svg"
  sed -i '0,/us |/s//us  |/' "$TMP/copy/results/h200/README.md"
  cp -r "$TMP/copy/results" "$TMP/before"
  echo 'raise ImportError("none here")' >"$TMP/matplotlib.py"
  PYTHONPATH=$TMP refused 9 '1 plots are out of date, and drawing them needs matplotlib'
  expect_no_out
  diff -r "$TMP/before" "$TMP/copy/results" || fail "something was written"
}

@test "a sweep without times and one without findings have their place" {
  PYTHONDONTWRITEBYTECODE=1 python - <<'PY'
import json, pathlib, sys
sys.path[:0] = ["scripts", "scripts/results"]
import page, update_results
from lib.program import Failure
from measured import Reports
sweep = json.loads(pathlib.Path("results/h200/v3.json").read_text())
sweep["sweep"]["about"] = ""
for row in sweep["results"]:
    row.update(time=None, status="skipped")
blocks = page.sweep_blocks(Reports({"v3": sweep}))
assert blocks[2:4] == ["### `v3`", "Nothing was timed."], blocks
try:
    page.v3_story(Reports({"v3": sweep}))
    raise AssertionError("a story of nothing")
except Failure as error:
    assert "serial and scalar" in str(error)
update_results.report = lambda journal: "head\n\nwarning  one\n         more\n"
assert update_results.v3_output("j") == "head\n\nwarning  one\n         more"
PY
}

@test "the page is made without what is not there: no PyTorch, no predictions" {
  copy_tree
  rm -f "$TMP"/copy/results/h200/torch_*.json "$TMP/copy/results/h200/ladder.json"
  update_copy
  expect_status 0
  ! grep -qE '^## (PyTorch|The ladder)' "$TMP/copy/results/h200/README.md" || fail "a section of nothing"
  grep -q '^## The five seeds' "$TMP/copy/results/h200/README.md" || fail "no seeds"
  update_copy --check
  expect_status 0
}

@test "a seed's verdict turns when the measurement does, and then its explanation goes" {
  PYTHONDONTWRITEBYTECODE=1 python - <<'PY'
import json, pathlib, sys
sys.path[:0] = ["scripts", "scripts/results"]
from measured import Reports
from seeds import verdicts
sweeps = {name: json.loads(pathlib.Path(f"results/h200/{name}.json").read_text()) for name in ("v3", "mission")}
first = lambda: verdicts(Reports(sweeps))[0][3][0]
assert first()[2] == "holds" and "geometry" in first()[3], first()
for row in sweeps["v3"]["results"]:
    row["findings"] = [f for f in row["findings"] if f["id"] != "grid_misses_bh"]
assert first()[2] == "does not hold" and first()[3] == "", first()
judged = {claim: (verdict, because) for seed in verdicts(Reports(sweeps)) for claim, _, verdict, because in seed[3]}
assert judged["q tiles of 32"][0] == "not measured" and "scalar_ladder" in judged["q tiles of 32"][1], judged
PY
}

@test "a rung's gain is held against its prediction" {
  PYTHONDONTWRITEBYTECODE=1 python - <<'PY'
import sys
sys.path[:0] = ["scripts", "scripts/results"]
from page import held_against, predicted_text
cases = [((None, 50, 100), "2.00x"), ((None, 50, None), "-"), (([1.5, 1.8], 50, 100), "2.00x, above"),
         (([1.5, 1.97], 50, 100), "2.00x, as predicted"), (([2.1, 2.5], 50, 100), "2.00x, below"), (([1, 2], 50, None), "-"),
         (({"us": 40}, 50, None), "1.25x the predicted time"), (({"us": 40}, 50, 100), "2.00x, 1.25x the predicted time"),
         (({"saves_us": 5}, 50, 100), "2.00x, 50.0 us less"), (({"saves_us": 5}, 100, 50), "0.50x, 50.0 us more")]
for arguments, words in cases:
    assert held_against(*arguments) == words, (arguments, held_against(*arguments))
assert [predicted_text(p) for p in (None, [1, 1], [1.1, 2], {"us": 7}, {"saves_us": -6})] == ["-", "1.00x", "1.10x to 2.00x", "7.00 us", "6 us more"]
PY
}

@test "numbers are written with their digits and without exponents" {
  PYTHONDONTWRITEBYTECODE=1 python - <<'PY'
import sys
sys.path[:0] = ["scripts", "scripts/results"]
from lib.reports import shape_of_key
from lib.tables import percent, ratio, significant
from measured import torch_versions
assert [significant(x) for x in (0, 1234.5, 12.345, 1.2345, 0.12345, 0.0012345)] == ["0", "1234", "12.3", "1.23", "0.123", "0.00123"]
assert [ratio(x) for x in (0.00066, 0.0949, 0.0951, 1.5, 37.25)] == ["0.00066x", "0.095x", "0.10x", "1.50x", "37.2x"]
assert [percent(x) for x in (0.0028, 0.129)] == ["0.28 %", "12.9 %"]
assert shape_of_key("B1.H8.Hkv2.Sq3.Skv4.D64.f16.causal") == {"B": 1, "Hq": 8, "Hkv": 2, "Sq": 3, "Skv": 4, "D": 64, "dtype": "f16", "causal": True}
said = {"run": {"command": "x --json y # torch 2.11.0+cu130, CUDA 13.0, cuDNN 91900"}}
assert torch_versions(said) == {"torch": "2.11.0+cu130", "CUDA": "13.0", "cuDNN": "9.19.0"}
PY
}

@test "drawing twice gives the same bytes" {
  local drawer
  for drawer in /usr/bin/python3 python3 ''; do
    [ -z "$drawer" ] || ! "$drawer" -c 'import matplotlib' 2>/dev/null || break
  done
  [ -n "$drawer" ] || skip "matplotlib is not installed"
  for time in 1 2; do
    PYTHONDONTWRITEBYTECODE=1 "$drawer" - "$TMP/$time.svg" <<'PY'
import json, pathlib, sys
sys.path[:0] = ["scripts", "scripts/results"]
import plots
from measured import Reports
sweeps = {name: json.loads(pathlib.Path(f"results/h200/{name}.json").read_text()) for name in ("v3", "n6")}
found = plots.plots(Reports(sweeps))
assert [p["name"] for p in found] == ["latency_n6", "rate_n6", "scaling", "roofline"], [p["name"] for p in found]
drawn = b"".join(plots.draw(plot) for plot in found)
assert all(plots.is_current(plot, drawn.decode()) for plot in found)
pathlib.Path(sys.argv[1]).write_bytes(drawn)
PY
  done
  cmp "$TMP/1.svg" "$TMP/2.svg" || fail "the two differ"
}
