# tags: long slow unsanitized
load ../helper

# What `attnbench report` says of the committed journals is kept here, since a dozen copies of them are made pages of.
setup_file() {
  KEPT=$(file_folder)
  export KEPT KEPT_PROGRAM=$ATTNBENCH KEPT_ROOT=$ROOT
  local journal
  for journal in results/*/*.journal; do
    mkdir -p "$KEPT/$(basename "$(dirname "$journal")")"
    "$ATTNBENCH" report "$journal" --json "$(kept_of "$journal")" >/dev/null
  done
  cat >"$KEPT/attnbench" <<'PROGRAM'
#!/usr/bin/env bash
# The answer that is kept where the journal is the committed one, and the program's own to all else.
folder=${2%/*}
journal=${folder##*/}/${2##*/}
if [ "$1 ${*:3}" = "report --json -" ] && cmp -s "$2" "$KEPT_ROOT/results/$journal"; then exec cat "$KEPT/${journal%.journal}.json"; fi
exec "$KEPT_PROGRAM" "$@"
PROGRAM
  chmod +x "$KEPT/attnbench"
}
kept_of() { echo "$KEPT/$(basename "$(dirname "$1")")/$(basename "$1" .journal).json"; }

@test "committed reports and README's figures are what the committed journals say" {
  must 0 capture python scripts/results/update_results.py --check
}

# json_of FILE: the JSON report of a committed journal or report.
json_of() { [[ $1 == *.json ]] && echo "$1" || kept_of "$1"; }

@test "every committed report is valid, complete and right" {
  local reports=() given
  for given in results/*/*.journal results/*/torch_*.json; do
    reports+=("$(json_of "$given")")
  done
  [ "${#reports[@]}" -ge 6 ] || fail "only ${#reports[@]} reports"
  python - "${reports[@]}" <<'PY'
import json, sys
for path in sys.argv[1:]:
    d = json.load(open(path))
    assert d["run"]["state"] == "complete" and d["summary"]["exit_code"] == 0, path
    assert d["summary"]["ok"] + d["summary"]["skipped"] == d["summary"]["cells"] == d["run"]["cells"], path
PY
  python scripts/proof/validate_report.py --sample "${reports[@]}"
}

@test "what attnbench report makes of a journal is not committed beside it" {
  for journal in results/*/*.journal; do
    [ ! -e "${journal%.journal}.json" ] || fail "${journal%.journal}.json: remove it"
  done
}

@test "there is a journal for every shipped sweep, and PyTorch was measured, over the sweeps as they are" {
  local sweep name journal torch pairs=()
  for sweep in shapes/*.json; do
    name=$(basename "$sweep" .json)
    # One variant is enough to learn the sweep's hash.
    "$ATTNBENCH" plan --sweep "$sweep" --gpu h200 --variants scalar --json "$TMP/$name.json" >/dev/null
    # The gate's own report is its baseline, which is there once one was promoted.
    if [ "$name" = gate ]; then
      [ ! -e results/h200/baseline/gate.json ] || pairs+=(results/h200/baseline/gate.json "$TMP/gate.json")
      continue
    fi
    compgen -G "results/*/$name.journal" >/dev/null || fail "results/ has no journal of $sweep"
    for journal in results/*/"$name.journal"; do pairs+=("$(json_of "$journal")" "$TMP/$name.json"); done
  done
  for torch in results/*/torch_*.json; do
    name=$(basename "$torch" .json)
    pairs+=("$torch" "$TMP/${name#torch_}.json")
  done
  python - "${pairs[@]}" <<'PY'
import json, sys
for report, plan in zip(sys.argv[1::2], sys.argv[2::2]):
    assert json.load(open(report))["sweep"]["hash"] == json.load(open(plan))["sweep"]["hash"], f"{report} was measured with another sweep"
PY
}

# A copy of what the pages are made from, to be spoilt; the script of the copy runs on the copy.
copy_tree() {
  mkdir "$TMP/copy"
  cp -r README.md results scripts "$TMP/copy"
}
update_copy() { ATTNBENCH=${PROGRAM:-$KEPT/attnbench} PYTHONDONTWRITEBYTECODE=1 capture python "$TMP/copy/scripts/results/update_results.py" "$@"; }

@test "a figure in README that no report holds is seen" {
  copy_tree
  sed -i '/<!-- begin v3-output -->/,/<!-- end v3-output -->/s/scalar /scaler /' "$TMP/copy/README.md"
  must 1 update_copy --check
  expect_out 'differs: README.md'
}

@test "a figure typed into the results page is seen" {
  copy_tree
  sed -i '0,/us |/s//us  |/' "$TMP/copy/results/h200/README.md"
  must 1 update_copy --check
  expect_out 'differs: results/h200/README.md'
}

@test "a plot that was drawn from other reports is seen without drawing it, as is one that nothing makes" {
  copy_tree
  plots=$TMP/copy/results/h200/plots
  sed -i 's/drawn from sha256:...../drawn from sha256:00000/' "$plots/roofline.svg"
  cp "$plots/scaling.svg" "$plots/old.svg"
  must 1 update_copy --check
  expect_out 'differs: results/h200/plots/roofline.svg'
  expect_out 'differs: results/h200/plots/old.svg'
  refute_out 'scaling.svg'
}

@test "a table of another script becomes a page that is linked, and a row with a cell missing is an error that names it" {
  copy_tree
  gpu=$TMP/copy/results/h200
  cat >"$gpu/gate.json" <<'JSON'
{"schema": "attnbench.table/1", "title": "Rates of the gate", "about": "From a test.",
 "columns": ["what", {"name": "rate", "align": "right"}], "rows": [["false | alarms", 0.00123456], ["found", null], ["said", true]],
 "notes": ["a note"], "tables": [{"title": "More", "columns": ["n"], "rows": [[7]]}], "raw": [1, 2]}
JSON
  must 0 update_copy
  expect_no_err
  page=$gpu/gate.md
  grep -qF '# Rates of the gate' "$page" || fail "no heading"
  grep -qF '| false \| alarms | 0.001235 |' "$page" || fail "no first row"
  grep -qF '| said | yes |' "$page" || fail "no third row"
  grep -qF -- '- a note' "$page" || fail "no note"
  grep -qF '| 7 |' "$page" || fail "no second table"
  grep -qF '(gate.md)' "$gpu/README.md" || fail "no link"
  sed -i 's/\["found", null\]/["found"]/' "$gpu/gate.json"
  must 7 update_copy --check
  expect_err 'gate.json: row 1 has 1 cells for 2 columns'
}

# refused STATUS TEXT [OPTION...]: the copy's script says TEXT in a line.
refused() {
  update_copy "${@:3}"
  expect_status "$1"
  expect_err "$2"
  expect_err_lines 1
}

# refused_changes FILE: the copy's script refuses each of stdin's lines, "CHANGE|TEXT": FILE as sed's
# CHANGE leaves it is an error that says TEXT. FILE is put back afterwards.
refused_changes() {
  local file=$1 change text
  cp "$file" "$TMP/unchanged"
  while IFS='|' read -r change text; do
    sed "$change" "$TMP/unchanged" >"$file"
    refused 7 "$text" --check
  done
  cp "$TMP/unchanged" "$file"
}

@test "what the page cannot be made from is an error that names it, and nothing is written" {
  copy_tree
  gpu=$TMP/copy/results/h200
  cp "$TMP/copy/README.md" "$TMP/readme"
  refused_changes "$gpu/ladder.json" <<'TABLE'
s/attnbench.ladder.1/attnbench.report\/1/|ladder.json: not predictions
s/"sources"/"source"/|has no "sources"
0,/"what"/s//"that"/|has no "what"
0,/"predicted": \[/s//"predicted": [null, /|predictions for 3 cases
0,/"over": "[^"]*"/s//"over": "nobody"/|is over nobody, which is not a rung of this ladder
0,/\[1.85, 1.85\]/s//"fast"/|fast is not a prediction
TABLE
  sed -i 's/-- end headline --/-- headline --/' "$TMP/copy/README.md"
  refused 7 'README.md: block headline has no <!-- end headline -->' --check
  cp "$TMP/readme" "$TMP/copy/README.md"
  PROGRAM=$TMP/nothing refused 9 "$TMP/nothing: not found"
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

@test "a block of README whose measurement is gone is an error, and so is one that nothing makes" {
  copy_tree
  rm "$TMP/copy/results/h200/v3.journal" "$TMP/copy/results/h200/origins.json"
  refused 7 'README.md: nothing makes its block v3-output' --check
  cp -r results "$TMP/copy"
  printf '<!-- begin other -->\n<!-- end other -->\n' >>"$TMP/copy/README.md"
  refused 7 'README.md: nothing makes its block other' --check
}

@test "a README without blocks is left alone, and a page that nothing makes any more is removed" {
  copy_tree
  echo 'Nothing generated.' >"$TMP/copy/README.md"
  rm "$TMP/copy/results/h200/counters.json"
  must 1 update_copy --check
  [ "$(cat "$OUT")" = 'differs: results/h200/README.md
differs: results/h200/counters.md' ] || fail "something else differs"
  must 0 update_copy
  expect_out 'removed: results/h200/counters.md'
  ! grep -q counters.md "$TMP/copy/results/h200/README.md" || fail "a dead link"
}

@test "the claims beside the measurements need rows that were measured" {
  copy_tree
  refused_changes "$TMP/copy/results/h200/origins.json" <<'TABLE'
s/attnbench.origins.1/attnbench.table\/1/|origins.json: not a list of claims
0,/full serial/s//full nobody/|origins.json: no report has times of "v3 B8.H16.Hkv16.Sq512.Skv512.D64.f16.full nobody"
0,/"claim"/s//"said"/|origins.json: a row needs "report"
0,/takes {}/s//takes {} {} {}/|origins.json: a row needs "report"
$d|origins.json: not valid JSON
TABLE
}

@test "goals need rows that were measured, and one bound each" {
  copy_tree
  refused_changes "$TMP/copy/results/h200/goal_list.json" <<'TABLE'
s/attnbench.goals.1/attnbench.table\/1/|goal_list.json: not a list of goals
s/"about"/"said"/|goal_list.json: not a list of goals
0,/"title"/s//"name"/|goal_list.json: a group needs "title" and "goals"
0,/"problem"/s//"about"/|Prefill: a goal has no "problem"
0,/"least": 1.18/s//"least": "1.18"/|give one number, "least" or "most"
0,/"least": 1.18/s//"least": 1.18, "most": 2/|give one number, "least" or "most"
0,/"figure": "speedup"/s//"figure": "quickness"/|"figure" must be one of tflop_per_s, gb_per_s
0,/f16.full wgmma"/s//f16.full nobody"/|no report has times of "steady B1.H16.Hkv16.Sq16384.Skv16384.D128.f16.full nobody"
s/"row": "decode decode"/"row": "decode nobody"/|no report has ratios of "decode nobody"
s/"over": "goals [^"]*.D192.[^"]* cudnn"/"beside": ""/|1,16,8192,192 causal, Dv = 128: has no 'over'
TABLE
}

@test "a goal is reached where its bound holds in every mode that was measured, and a miss says what bounds it" {
  PYTHONDONTWRITEBYTECODE=1 python - <<'PY'
import sys
sys.path[:0] = ["scripts", "scripts/results"]
import goals
from lib.program import Failure
from measured import Reports
def row(variant, hot, steady, limit=None):
    times = {"hot": {"median_us": hot}, "steady": {"median_us": steady} if steady else None}
    rates = {mode: time and 1000 / time["median_us"] for mode, time in times.items()}
    return {"key": "B1.H1.Hkv1.Sq64.Skv64.D64.f16.full", "variant": variant, "status": "ok", "time": times, "tflop_per_s": rates, "speedup_vs": None,
            "gb_per_s": rates, "bound_by": limit and {"limit": limit, "text": f"{limit} 90 %"}}
rows = [row("fast", 1, 2, "power"), row("slow", 2, 3), row("once", 4, None)]
counters = {"rows": [{"key": rows[0]["key"], "variant": "slow", "passes": [
    {"gpu_time_us": 1, "dram_read_bytes": 0, "dram_write_bytes": 0, "tensor_pipe_ratio": 0, "issue_ratio": 0, "top_stall": {"name": "a", "ratio": 0}},
    {"gpu_time_us": 2, "dram_read_bytes": 3e6, "dram_write_bytes": 1e6, "tensor_pipe_ratio": 0.5, "issue_ratio": 0.25,
     "top_stall": {"name": "wait", "ratio": 0.125}}]}]}
reports = Reports({"s": {"results": rows}}, counters=counters)
cell = lambda variant: f"s {rows[0]['key']} {variant}"
def reached(**goal):
    goal = {"problem": "p", "row": cell("fast"), "figure": "tflop_per_s", **goal}
    values = {name: goals.figure(reports, goal, mode, "here") for name, mode in goals.MODES.items()}
    return goals.line(goal, values)[5:], goals.miss_list(reports, [(goal, values)], "here")
assert reached(least=500)[0] == ["1000 TFLOP/s", "500 TFLOP/s", "yes (close)"]
assert reached(least=400)[0][2] == "yes" and reached(least=2000)[0][2] == "no"
table, missed = reached(least=501)
assert table[2] == "burst only (close)" and "where the power limit holds the clock down:** p." in missed, missed
assert reached(least=501, reason="It is so.")[1] == "- **p.** It is so. attnbench: power 90 %."
assert reached(least=1001)[0][2] == "no (close)" and "attnbench: power 90 %." in reached(least=1001)[1]
assert reached(row=cell("once"), least=200)[0] == ["250 TFLOP/s", "-", "burst; steady not measured"]
assert goals.variants_of({"figure": "speed_ratio", "row": cell("fast"), "over": f"{cell('slow')} + {cell('once')}"}) == "`fast` over `slow` + `once`"
assert reached(figure="gb_per_s", least=0.4)[0] == ["1.00 TB/s", "0.50 TB/s", "yes"]
assert reached(figure="speed_ratio", over=cell("slow"), least=1.4)[0] == ["2.000", "1.500", "yes"]
assert reached(figure="speed_ratio", over=cell("slow"), least=1.6)[0][2] == "burst only"
assert reached(figure="time_ratio", over=f"{cell('fast')} + {cell('slow')}", most=0.35)[0] == ["0.333", "0.400", "burst only"]
assert reached(figure="time_ratio", row=cell("slow"), over=cell("fast"), most=1.6)[0] == ["2.000", "1.500", "steady only"]
two = [({"problem": "p", "row": cell("slow"), "figure": "tflop_per_s", "least": least, "reason": reason}, {"burst": 1, "steady": 1})
       for least, reason in ((7, "One."), (8, "Two."))]
assert goals.miss_list(reports, two, "here").startswith("- **p.** One. Two. ncu: "), goals.miss_list(reports, two, "here")
counted = reached(row=cell("slow"), least=9999)[1]
wrong = {**rows[0], "variant": "wrong", "status": "wrong"}
try:
    goals.figure(Reports({"s": {"results": [wrong]}}), {"row": cell("wrong"), "figure": "tflop_per_s"}, "hot", "here")
    raise AssertionError("a wrong row has a figure")
except Failure as failure:
    assert str(failure).endswith('wrong" is wrong; name a row that is ok'), failure
assert counted == "- **p.** ncu: tensor pipe 50.0 %, issue slots 25.0 %, DRAM 2.00 TB/s; the most waits are `wait`, 12.5 %.", counted
PY
}

# The anchors of a page's headings, as GitHub makes them; in the C locale, since letters have other small ones elsewhere.
anchors() (
  export LC_ALL=C
  sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
)

@test "every link of a page leads to a file and to a heading" {
  local page link to
  for page in README.md CONTRIBUTING.md results/*.md results/*/*.md shapes/README.md kernels/example/README.md scripts/README.md; do
    for link in $(grep -oE '\]\([^) ]*\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^https*:'); do
      to=$(dirname "$page")/${link%%#*}
      [ "${link%%#*}" != "" ] || to=$page
      [ -e "$to" ] || fail "$page: $link is not there"
      [[ $link != *.md#* && $link != '#'* ]] || anchors "$to" | grep -qxF -e "${link##*#}" || fail "$page: $link has no heading"
    done
  done
}

@test "the front page is short, and holds no long example" {
  local page
  page=results/h200/README.md
  # Without the table of sweeps, which has a line for each.
  [ "$(grep -vc '^| \[`' "$page")" -lt 141 ] || fail "$page has $(wc -l <"$page") lines"
  [ "$(sed -n '/begin v3-output/,/end v3-output/p' README.md | wc -l)" -le 20 ] || fail "README's example is long"
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

@test "a sweep without times has its place, and an example of nothing is an error" {
  PYTHONDONTWRITEBYTECODE=1 python - "$(json_of results/h200/v3.journal)" <<'PY'
import json, sys
sys.path[:0] = ["scripts", "scripts/results"]
import page, readme
from lib.program import Failure
from measured import Reports
sweep = json.load(open(sys.argv[1]))
sweep["sweep"]["about"] = ""
for row in sweep["results"]:
    row.update(time=None, status="skipped")
reports = Reports({"v3": sweep})
front = page.pages("h200", reports, page.Written(None, None, None), [])["README.md"]
cells = len(sweep["results"])
assert f"| [`v3`](v3.journal) | {cells} | 3 | - |" in front and "Scaling" not in front, front
heading = "  variant status\n          us\n"
for printed in ("", heading + "B1.H2.x\n  serial ok\n"):
    try:
        readme.excerpt(printed)
        raise AssertionError("an example of nothing")
    except Failure as failure:
        assert "prints no rows or no findings" in str(failure)
rows = "B1.H2.x\n  serial ok\nB3.H4.x\n  serial ok\n  wmma ok\n> cudnn ok\nvs ref = \n\n"
made = readme.excerpt("fastest: cudnn\n\n" + heading + rows + "severe one\n  more\nnote two\n")
assert made == "fastest: cudnn\n\n" + heading + "B3.H4.x\n  serial ok\n> cudnn ok\n...\nsevere one\n  more\n...", made
PY
}

@test "the page is made without what is not there: no PyTorch, no predictions" {
  copy_tree
  rm -f "$TMP"/copy/results/h200/{torch_*,ladder,origins,goal_list,goals_counters}.json
  must 0 update_copy
  for page in pytorch ladder goals; do
    expect_out "removed: results/h200/$page.md"
  done
  ! grep -q 'grew out of' "$TMP/copy/results/h200/README.md" || fail "claims of nobody"
  must 0 update_copy --check
}

@test "a rung's gain is held against its prediction" {
  PYTHONDONTWRITEBYTECODE=1 python - <<'PY'
import sys
sys.path[:0] = ["scripts", "scripts/results"]
from ladder import held_against, predicted_text
cases = [((None, 50, 100), "2.00x"), ((None, 50, None), "-"), (([1.5, 1.8], 50, 100), "2.00x, above"),
         (([1.5, 1.97], 50, 100), "2.00x, as predicted"), (([2.1, 2.5], 50, 100), "2.00x, below"), (([1, 2], 50, None), "-"),
         (({"us": 40}, 50, None), "1.25x the predicted time"), (({"us": 40}, 50, 100), "2.00x, 1.25x the predicted time"),
         (({"saves_us": 5}, 50, 100), "2.00x, 50.0 us less"), (({"saves_us": 5}, 100, 50), "0.50x, 50.0 us more")]
def row(us, against=None):
    return us and {"time": {"hot": {"median_us": us}}, "speedup_vs": against and {"hot": {"ratio": against}}}
for (prediction, us, below_us), words in cases:
    said = held_against(prediction, row(us), row(below_us))
    assert said == words, (prediction, us, below_us, said)
# The ratios to the reference say more than times that a slower clock may have lengthened.
assert held_against([1.1, 1.3], row(50, 1.2), row(45, 1.0)) == "1.20x, as predicted"
assert held_against([1.1, 1.3], row(50, 1.2), row(45)) == "0.90x, below"
assert [predicted_text(p) for p in (None, [1, 1], [1.1, 2], {"us": 7}, {"saves_us": -6})] == ["-", "1.00x", "1.10x to 2.00x", "7.00 us", "6 us more"]
PY
}

@test "a ratio that two times beside it contradict is marked, and steady times have a page" {
  PYTHONDONTWRITEBYTECODE=1 python - "$(json_of results/h200/v3.journal)" <<'PY'
import copy, json, sys
sys.path[:0] = ["scripts", "scripts/results"]
import page, steady
from measured import Reports
sweep = json.load(open(sys.argv[1]))
rows = next(iter(Reports({"v3": sweep}).cases("v3").values()))
own, reference = rows["wgmma"], rows["cudnn"]
quotient = reference["time"]["hot"]["median_us"] / own["time"]["hot"]["median_us"]
for low, high, is_aside in ((0.99, 1.01, False), (1.001, 1.002, True), (0.9, 0.999, True)):
    own["speedup_vs"]["hot"].update(ratio=quotient * (low + high) / 2, ci95_low=quotient * low, ci95_high=quotient * high)
    made = page.fastest_table([("v3", rows)], lambda rows: ("wgmma", rows["wgmma"]))
    assert (" †" in made) == is_aside == bool(page.note_of(made)), made
assert "kernels alone" not in made
own["speedup_vs"]["hot"]["kernels_alone"] = 1.6254
alone = page.fastest_table([("v3", rows)], lambda rows: ("wgmma", rows["wgmma"]))
assert alone.splitlines()[0].endswith("| kernels alone |") and alone.endswith(" | 1.625 |"), alone
del own["speedup_vs"]["hot"]["kernels_alone"]
assert not steady.blocks(Reports({"steady": sweep}))
kept = copy.deepcopy(sweep)
for row in kept["results"]:
    if row["status"] == "ok" and row["variant"] in ("wgmma", "cudnn"):
        row["time"]["steady"] = {**row["time"]["hot"], "power_w": 688.4, "sm_clock_mhz": 1320.2}
        row["tflop_per_s"]["steady"], row["energy_pj_per_flop"] = 659.4, 1.0432
        if row["speedup_vs"]:
            row["speedup_vs"]["steady"] = {"ratio": 1.1564, "ci95_low": 1.1459, "ci95_high": 1.1737}
text = "\n".join(steady.blocks(Reports({"steady": kept})))
assert text.count("| 659 |") == 6 and text.count("| 1320 MHz | 688 W | 1.043 pJ/FLOP |") == 6, text
assert text.count("1.156 (1.146 to 1.174)") == sum(bool(row["speedup_vs"]) for row in kept["results"] if row["variant"] == "wgmma"), text
rows = next(iter(Reports({"steady": kept}).cases("steady").values()))
own, reference = rows["wgmma"], rows["cudnn"]
quotient = reference["time"]["steady"]["median_us"] / own["time"]["steady"]["median_us"]
for low, high, is_aside in ((0.99, 1.01, False), (1.001, 1.002, True), (0.9, 0.999, True)):
    own["speedup_vs"]["steady"] = {"ratio": quotient * (low + high) / 2, "ci95_low": quotient * low, "ci95_high": quotient * high}
    made = " ".join(steady.line(own, reference))
    assert made.endswith(" †") == is_aside == bool(steady.note_of(made)), made
assert not steady.aside(own, None) and not steady.aside(reference, reference)
PY
}

@test "numbers are written with their digits and without exponents" {
  PYTHONDONTWRITEBYTECODE=1 python - <<'PY'
import sys
sys.path[:0] = ["scripts", "scripts/results"]
from lib.reports import case_label, parts_of_key
from lib.tables import percent, ratio, significant
from measured import torch_versions
assert [significant(x) for x in (0, 1234.5, 12.345, 1.2345, 0.12345, 0.0012345)] == ["0", "1234", "12.3", "1.23", "0.123", "0.00123"]
assert [ratio(x) for x in (0.00066, 0.0949, 0.0951, 1.5, 37.25)] == ["0.00066x", "0.095x", "0.10x", "1.50x", "37.2x"]
assert [percent(x) for x in (0.0028, 0.129)] == ["0.28 %", "12.9 %"]
assert parts_of_key("B1.H8.Hkv2.Sq3.Skv4.D64.f16.causal") == (("1", "8", "2", "3", "4", "64"), ["f16", "causal"])
assert case_label("B1.H8.Hkv2.Sq3.Skv3.D64.bf16.window5:-1.lse") == "1,8/2,3,64 bf16 window5:-1 lse"
said = {"run": {"command": "x --json y # torch 2.11.0+cu130, CUDA 13.0, cuDNN 91900"}}
assert torch_versions(said) == {"torch": "2.11.0+cu130", "CUDA": "13.0", "cuDNN": "9.19.0"}
assert torch_versions({"run": {"command": "x"}, "results": [{"launches": [{"name": "PyTorch 2.11.0"}]}, {"launches": []}]}) == {"torch": "2.11.0"}
PY
}

@test "drawing twice gives the same bytes" {
  local drawer
  for drawer in /usr/bin/python3 python3 ''; do
    [ -z "$drawer" ] || ! "$drawer" -c 'import matplotlib' 2>/dev/null || break
  done
  [ -n "$drawer" ] || skip "matplotlib is not installed"
  for time in 1 2; do
    PYTHONDONTWRITEBYTECODE=1 "$drawer" - "$TMP/$time.svg" "$(json_of results/h200/v3.journal)" "$(json_of results/h200/n6.journal)" <<'PY'
import json, pathlib, sys
sys.path[:0] = ["scripts", "scripts/results"]
import plots
from measured import Reports
sweeps = {name: json.loads(pathlib.Path(path).read_text()) for name, path in zip(("v3", "n6"), sys.argv[2:])}
found = plots.plots(Reports(sweeps))
assert [p["name"] for p in found] == ["latency_n6", "rate_n6", "scaling", "roofline"], [p["name"] for p in found]
drawn = [plots.draw(plot) for plot in (found if sys.argv[1].endswith("1.svg") else found[:1])]
assert all(plots.is_current(plot, page.decode()) for plot, page in zip(found, drawn))
pathlib.Path(sys.argv[1]).write_bytes(drawn[0])
PY
  done
  cmp "$TMP/1.svg" "$TMP/2.svg" || fail "the two differ"
}

@test "the table of all kinds names each kind, holds PyTorch's rows against cuDNN's median, and refuses a wrong row" {
  PYTHONDONTWRITEBYTECODE=1 python - "$(json_of results/h200/kinds.journal)" <<'PY'
import copy, json, sys
sys.path[:0] = ["scripts", "scripts/results"]
import kinds
from lib.program import Failure
from measured import Reports
sweep, torch = json.load(open(sys.argv[1])), json.load(open("results/h200/torch_kinds.json"))
text = "\n".join(kinds.blocks(Reports({"kinds": sweep}, {"kinds": torch})))
for _, words in kinds.KINDS:
    assert f"| {words} |" in text, words
assert text.count("(medians)") == 8 and text.count("| `cudnn` |") == 4
assert "medians)" not in "".join(kinds.blocks(Reports({"kinds": sweep})))
first = copy.deepcopy(sweep)
first["results"][0].update(status="wrong", time=None)
try:
    kinds.blocks(Reports({"kinds": first}))
    raise AssertionError("a wrong row was taken")
except Failure as failure:
    assert "wgmma is wrong" in str(failure)
PY
}
