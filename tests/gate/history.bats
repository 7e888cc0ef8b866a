# The verb history on files, and scripts/bisect.sh. The statistics are those of unit_change and unit_history.
load ../helper

BASE=tests/data/released/0.1.0/baseline.json

@test "history finds the commit of a slowdown, and writes JSON, CSV, a page and the command of git bisect" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 24
  mkdir "$TMP/runs/more"
  mv "$TMP/runs/2026-01-03.json" "$TMP/runs/more"
  cp "$TMP/runs/2026-01-04.json" "$TMP/runs/more/again.json" # the same run, which counts once
  echo '{"schema": "attnbench.compare/1"}' >"$TMP/runs/compare.json"
  must 1 attn history "$TMP/runs" --allow-edited --json "$TMP/h.json" --csv "$TMP/h.csv" --html "$TMP/h.html"
  expect_out '1 series is slower since a commit' '8 series of 2 cases in 24 runs, 2026-01-01 to 2026-01-24; 1 file left out' 'c000010'
  expect_err 'left out: ' 'that of a comparison'
  python - "$TMP" <<'CHECK' || fail "what the files say"
import csv, json, sys
doc = json.load(open(sys.argv[1] + "/h.json"))
changes = [(s["key"], s["variant"], s["mode"], c) for s in doc["series"] for c in s["changes"]]
assert len(changes) == 1, changes
key, variant, mode, change = changes[0]
assert (key, variant, mode) == ("B1.H2.Hkv2.Sq65.Skv65.D64.f16.full", "cpu_flash", "hot"), changes
assert change["what"] == "slower" and change["state"] == "stands" and change["besides"] is None, change
assert change["commit"] == "c000010" and change["good"] < "c000010" <= change["bad"], change
assert 1.03 < change["bound_low_ratio"] < change["time_ratio"] < change["bound_high_ratio"] < 1.07, change
rows = list(csv.DictReader(open(sys.argv[1] + "/h.csv", newline="")))
points = [p for s in doc["series"] for p in s["points"]]
assert len(rows) == len(points) == 8 * 24, (len(rows), len(points))
for row in rows + points:
    for name in ("commit", "date", "card", "driver", "cuda", "version"):
        assert name in row, name
    assert row["commit"] and row["date"] and row["card"] and row["version"], row
assert [r["commit"] for r in rows if r["change_ratio"]] == ["c000010"]
CHECK
  python tests/check_page.py "$TMP/h.html" >"$TMP/facts" 2>"$TMP/faults" || fail "$(cat "$TMP/faults")"
  expect_json "$TMP/facts" "d['counts']['figure'] == 8 and 'changes' in d['ids']"
  must 1 attn history "$TMP/runs" --allow-edited --bisect
  expect_out 'git bisect start c0000' '--modes hot --shape B1.H2.Hkv2.Sq65.Skv65.D64.f16.full --variants cpu_flash'
  must 0 attn history "$TMP"/runs/2026-01-0[123].json --allow-edited --bisect
  [ ! -s "$OUT" ] || fail "$(cat "$OUT")"
  expect_err 'nothing to bisect: cannot tell: 8 of 8 series have fewer than 6 runs'
}

@test "history --bisect: the threshold of a slowdown to 2.5 times the time is one that ab takes" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 24 2.468
  must 1 attn history "$TMP/runs" --allow-edited --bisect
  expect_out_matches '^# .*: \+14[0-9.]+ %$' '--threshold 50\.00 '
  threshold=$(grep -oE -m 1 -- '--threshold [0-9.]+' "$OUT")
  # shellcheck disable=SC2086 # two words
  must 0 attn compare "$BASE" "$BASE" --noise=warn $threshold
}

# figures PAGE: of each curve the series, its title's last word, and where its points and texts lie, from the page's SVG.
figures() {
  python - "$1" <<'READ'
import json, re, sys
found = []
for figure in open(sys.argv[1]).read().split("<figure ")[1:]:
    points = re.search(r'class="line" d="M([^"]*)"', figure)[1].split("L")
    number = r"([0-9.]+)"
    found.append({
        "name": re.search("<figcaption>(.*?): ", figure)[1] + re.search("<small>.*?([.][a-z]*)</small>", figure)[1],
        "from": re.search("from its ([a-z ]*)</title>", figure)[1],
        "y": [float(point.split()[1]) for point in points],
        "zero": float(re.search(rf'd="M[0-9.]+ {number}H[0-9.]+"/><text [^>]*>0</text>', figure)[1]),
        "notes": [[float(x), anchor, text] for x, anchor, text in
                  re.findall(rf'<text x="{number}" y="[0-9]+" text-anchor="(start|end)" class="note">([^<]*)<', figure)]})
print(json.dumps(found))
READ
}

@test "a curve's 0 is its first level: the mean of a steady series, where the line of one that drifts begins" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 30 1 1.2
  must 0 attn history "$TMP/runs" --allow-edited --html "$TMP/h.html"
  expect_out drifts
  figures "$TMP/h.html" >"$TMP/figures.json"
  python - "$TMP/figures.json" <<'CHECK' || fail "$(cat "$TMP/figures.json")"
import json, sys
figures = json.load(open(sys.argv[1]))
assert len(figures) == 8 and [f["from"] for f in figures].count("start") == 1, figures
for figure in figures:
    y, middle = figure["y"], (len(figure["y"]) - 1) / 2
    mean = sum(y) / len(y)
    slope = sum((i - middle) * v for i, v in enumerate(y)) / sum((i - middle) ** 2 for i in range(len(y)))
    assert figure["from"] in ("mean", "start"), figure["from"]
    first = mean if figure["from"] == "mean" else mean - slope * middle
    assert abs(figure["zero"] - first) < 1.5, (figure["name"], figure["zero"], first)
CHECK
  grep -q 'relative to the mean' "$TMP/h.html" && grep -q 'relative to the first level' "$TMP/h.html" || fail "legends"
}

@test "the text of a change near the edge of its curve is not cut off" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 24
  rm "$TMP"/runs/2026-01-2[234].json
  must 1 attn history "$TMP/runs" --allow-edited --html "$TMP/h.html"
  figures "$TMP/h.html" >"$TMP/figures.json"
  expect_json "$TMP/figures.json" 'sum(len(f["notes"]) for f in d) == 1'
  expect_json "$TMP/figures.json" 'all(x - len(t) * 6.5 > 0 if a == "end" else x + len(t) * 6.5 < 400 for f in d for x, a, t in f["notes"])'
}

# to_own_kernel CHANGES: the runs are of kernels in another repository, measured by an attnbench that changes at run CHANGES.
to_own_kernel() {
  python - "$TMP/runs" "$1" <<'EDIT'
import json, pathlib, sys
for i, path in enumerate(sorted(pathlib.Path(sys.argv[1]).glob("*.json"))):
    report = json.loads(path.read_text())
    report["run"]["commit"] = report["tool"]["git_commit"]
    report["tool"]["git_commit"] = "aaaaaaa" if i < int(sys.argv[2]) else "bbbbbbb"
    path.write_text(json.dumps(report))
EDIT
}

@test "history of a kernel in another repository: its commits (--commit) count, and attnbench is a part of the surroundings" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 24
  to_own_kernel 99
  must 1 attn history "$TMP/runs" --allow-edited --bisect
  expect_out 'git bisect start c0000' 'bisect.sh --good c0000' '--kernel FILE --build COMMAND'
  must 1 attn history "$TMP/runs" --allow-edited
  expect_out c000010
  python tests/history_runs.py "$BASE" "$TMP/runs" 24
  to_own_kernel 16
  must 0 attn history "$TMP/runs" --allow-edited
  expect_out 'another attnbench (0.1.0 aaaaaaa, then 0.1.0 bbbbbbb)'
}

@test "a run names the commit of its kernel in text, JSON and CSV; what is no hash is refused" {
  run_of() { attn --shape S=8,B=1,H=1,D=8 --device cpu --variants cpu_flash --modes hot --quick "$@"; }
  must 0 run_of --commit 0123abc-dirty --json "$TMP/r.json" --csv "$TMP/r.csv"
  expect_out 'kernel    commit 0123abc-dirty'
  expect_json "$TMP/r.json" 'd["run"]["commit"] == "0123abc-dirty" != d["tool"]["git_commit"]'
  expect_valid results/report.schema.json "$TMP/r.json"
  python - "$TMP/r.csv" <<'CHECK' || fail "$(cat "$TMP/r.csv")"
import csv, sys
for row in csv.DictReader(open(sys.argv[1], newline="")):
    assert row["commit"] == "0123abc-dirty" and row["date"].startswith("20") and row["version"], row
CHECK
  expect_refusal 2 'give a commit' -- --shape S=8,B=1,H=1,D=8 --commit HEAD
  expect_refusal 2 'give a commit' -- --shape S=8,B=1,H=1,D=8 --commit '0123abc;reboot'
}

@test "history narrows what it reads: dates, cases, variants, commits" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 8 1
  must 0 attn history "$TMP/runs" --allow-edited --since 2026-01-05 --filter causal --variants cpu_ref
  expect_out '2 series of 1 case in 4 runs, 2026-01-05 to 2026-01-08'
  # Fewer runs than a change needs: no answer, in no output, and no table of series without one.
  expect_out 'cannot tell: 2 of 2 series have fewer than 6 runs'
  expect_out '2 series of fewer than 6 runs are not listed'
  refute_out 'no series is slower'
  must 0 attn history "$TMP/runs" --allow-edited --since 2026-01-05 --variants cpu_ref --json "$TMP/short.json" --html "$TMP/short.html"
  expect_json "$TMP/short.json" "d['answer'].startswith('cannot tell: ') and d['series_judged'] == 0 and d['runs_needed'] == 6"
  grep -q '>cannot tell: 4 of 4 series' "$TMP/short.html" || fail "the page's headline"
  must 0 attn history "$TMP/runs" --allow-edited --variants cpu_ref
  expect_out 'no series is slower because of a commit'
  expect_out 'against = '
  refute_out 'cannot tell'
  refute_out 'not listed'
  for i in 1 2 3; do echo '{"schema": "attnbench.compare/1"}' >"$TMP/runs/compare_$i.json"; done
  must 0 attn history "$TMP/runs" --allow-edited
  expect_err_lines 1
  expect_err_matches 'left out: 3 files, the first is .*: schema is that of a comparison'
  printf '%s\n' c000005 c000001 c000003 >"$TMP/commits"
  must 0 attn history "$TMP/runs" --allow-edited --commits "$TMP/commits" --csv "$TMP/h.csv" --html "$TMP/h.html" --variants cpu_ref --filter causal
  expect_err 'left out: 5 runs'
  # Their order is that of the commits, and so are the ends of what is shown.
  expect_out 'in 3 runs of commits c000005 to c000003'
  grep -q 'in 3 runs of commits c000005 to c000003' "$TMP/h.html" || fail "the page's counts"
  [ "$(grep -o ',hot,.*' "$TMP/h.csv" | cut -d, -f5 | paste -sd' ')" = "c000005 c000001 c000003" ] || fail "$(cat "$TMP/h.csv")"
  for date in yesterday 2025-13-40 2025-02-29 2025-00-01 2025-01-01T24:00:00Z ''; do
    expect_refusal 2 "$([ -n "$date" ] && echo 'give a date' || echo 'needs a value')" -- history "$TMP/runs" --since "$date"
  done
  must 0 attn history "$TMP/runs" --allow-edited --since 2024-02-29T23:59:59Z
  mkdir "$TMP/empty"
  expect_refusal 7 'holds no run' -- history "$TMP/empty"
  expect_refusal 7 'cannot be opened' -- history "$TMP/nowhere"
}

@test "history: a selection that keeps nothing is refused, since it could never fail" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 8 1
  expect_refusal 2 "no row in $TMP/runs is of \"cpu_flsh\"; did you mean cpu_flash?" -- history "$TMP/runs" --allow-edited --variants cpu_ref,cpu_flsh
  expect_refusal 2 'no row with a time meets --filter and --variants' -- history "$TMP/runs" --allow-edited --filter D=77
  # Of several files one is enough.
  python - "$TMP/runs/2026-01-01.json" <<'EDIT'
import json, sys
report = json.load(open(sys.argv[1]))
report["results"] = [r for r in report["results"] if r["variant"] != "cpu_ref"]
report["summary"]["cells"] = len(report["results"])
json.dump(report, open(sys.argv[1], "w"))
EDIT
  must 0 attn history "$TMP/runs" --allow-edited --variants cpu_ref
}

@test "a variant that the newest run no longer measures is named in text, JSON and page" {
  mkdir "$TMP/runs"
  must 0 attn --shape B=1,H=1,S=8,16,D=8,f32 --device cpu --quick --modes hot --variants cpu_ref,cpu_flash --json "$TMP/runs/1.json"
  must 0 attn history "$TMP/runs"
  refute_out 'has no time'
  sleep 1.1 # the date of a run has whole seconds
  must 0 attn --shape B=1,H=1,S=8,16,D=8,f32 --device cpu --quick --modes hot --variants cpu_ref --json "$TMP/runs/2.json"
  must 0 attn history "$TMP/runs" --json "$TMP/h.json" --html "$TMP/h.html"
  tr -s '\n ' ' ' <"$OUT" | grep -q 'cpu_flash has no time in the newest run in 2 cases, such as B1.H1' || fail "$(cat "$OUT")"
  expect_json "$TMP/h.json" '[(g["variant"], g["cases"], g["runs"]) for g in d["gone"]] == [("cpu_flash", 2, 1)]'
  grep -q '<li>cpu_flash has no time in the newest run' "$TMP/h.html" || fail "not on the page"
}

@test "history reads a folder that is a link, and follows no links to folders in it" {
  python tests/history_runs.py "$BASE" "$TMP/all/runs" 4 1
  python tests/history_runs.py "$BASE" "$TMP/all/others" 8 1
  ln -s .. "$TMP/all/runs/loop"
  ln -s "$TMP/all/others/2026-01-07.json" "$TMP/all/runs"
  ln -s all/runs "$TMP/link"
  must 0 attn history "$TMP/link" --allow-edited
  expect_out 'in 5 runs, 2026-01-01 to 2026-01-07'
}

@test "an output that is one of the runs of a folder is refused, and the run stays; an earlier output may be replaced" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 8
  local run=$TMP/runs/2026-01-02.json
  cp "$run" "$TMP/kept"
  expect_refusal 2 "--json $run is a run that the history reads" -- history "$TMP/runs" --allow-edited --json "$run"
  ln "$run" "$TMP/also"
  expect_refusal 2 "--csv $TMP/also is a run that the history reads" -- history "$TMP/runs" --allow-edited --csv "$TMP/also"
  cmp "$run" "$TMP/kept"
  must 1 attn history "$TMP/runs" --allow-edited --json "$TMP/runs/history.json" # it finds a slowdown
  must 1 attn history "$TMP/runs" --allow-edited --json "$TMP/runs/history.json" # it finds a slowdown
}

@test "a table of history goes into pandas, DuckDB and polars" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 8
  attn history "$TMP/runs" --allow-edited --csv "$TMP/history.csv" --quiet
  tried=0
  for module in pandas duckdb polars; do
    sed -n "/^\`\`\`python\$/,/^\`\`\`\$/{/^\`\`\`/d;p;}" results/history.md | awk -v module="$module" '
      $1 == "import" { is = $2 == module } is' >"$TMP/recipe_$module.py"
    grep -q history.csv "$TMP/recipe_$module.py" || fail "results/history.md has no recipe for $module"
    python -c "import $module" 2>/dev/null || continue
    (cd "$TMP" && python "recipe_$module.py" >"$module.out") || fail "$module"
    grep -q cpu_flash "$TMP/$module.out" || fail "$module: $(cat "$TMP/$module.out")"
    tried=$((tried + 1))
  done
  [ "$tried" -gt 0 ] || skip "none of pandas, duckdb and polars is installed; their recipes are in results/history.md"
}

# A repository whose program is a script that ends with its commit's number of microseconds.
fake_repository() {
  export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
  git init -q "$TMP/clone"
  cat >"$TMP/clone/program" <<'PROGRAM'
#!/usr/bin/env bash
# attnbench ab --base PROGRAM --candidate PROGRAM, attnbench history ..., or attnbench ... --json FILE
case $1 in
  ab) ;;
  history) echo "$@" && exit 1 ;;
  *)
    [[ $* != *--quiet* ]] || exit 2 # older programs do not know it
    tail -n 1 "$0" >"${!#}" && exit 0
    ;;
esac
base=$(tail -n 1 "$3") now=$(tail -n 1 "$5")
[ "$now" != '#noisy' ] || exit 5
[ "$now" = "$base" ] || exit 1
exit 0
PROGRAM
  printf 'attnbench: program speed\n\t! grep -q broken speed\n\tcat program speed >attnbench && chmod +x attnbench\n' >"$TMP/clone/Makefile"
  echo attnbench >"$TMP/clone/.gitignore"
  local speed
  for speed in '#100' '#100 ' '#100  ' '#broken' '#noisy' '#110' '#110 ' '#110  '; do
    echo "$speed" >"$TMP/clone/speed"
    sed -i 's/ *$//' "$TMP/clone/speed"
    echo "$speed" >"$TMP/clone/note-${#speed}"
    git -C "$TMP/clone" add -A
    git -C "$TMP/clone" commit -q --allow-empty -m "$speed"
  done
}

@test "bisect.sh compares a kernel of another repository: what its build makes of each commit" {
  command -v git >/dev/null || skip "no git"
  fake_repository
  # The judge is shown both objects; the speed stands in them.
  cat >"$TMP/judge" <<'JUDGE'
#!/usr/bin/env bash
[ "$1 $2 $4" = "ab --base-load --load" ] || exit 2
cmp -s "${3%:*}" "${5%:*}"
JUDGE
  chmod +x "$TMP/judge"
  step=$(cat scripts/bisect.sh)
  cd "$TMP/clone"
  code_of() {
    git checkout -q "HEAD~$1"
    ATTNBENCH=$TMP/judge run bash -c "$step" bisect.sh --good "$good" --kernel "$3" --build "$4" --modes hot
    git checkout -q -
    [ "$status" = "$2" ] || fail "HEAD~$1: $status, not $2: $output"
  }
  good=$(git rev-parse HEAD~7)
  code_of 0 1 k.so '! grep -q broken speed && cp speed k.so'
  code_of 5 0 k.so '! grep -q broken speed && cp speed k.so'
  code_of 4 125 k.so '! grep -q broken speed && cp speed k.so'
  code_of 0 1 speed:attention ''
  code_of 6 0 speed:attention ''
  run bash -c "$step" bisect.sh --good "$good" --build make --modes hot
  [ "$status" -eq 128 ] || fail "$status: $output"
  # Where nothing was compared, no commit is skipped: the bisection stops.
  local attnbench=$ATTNBENCH
  ATTNBENCH=$TMP/nothing run bash -c "$step" bisect.sh --good "$good" --kernel speed --modes hot
  [ "$status" -eq 128 ] && [[ $output == *"ended with 127"* ]] || fail "$status: $output"
  ATTNBENCH=$attnbench run bash -c "$step" bisect.sh --good "$good" --kernel speed --treshold 3
  [ "$status" -eq 128 ] && [[ $output == *"ended with 2"* ]] || fail "$status: $output"
}

@test "bisect.sh tells good from slow, and skips what does not build or is too noisy" {
  command -v git >/dev/null || skip "no git"
  fake_repository
  step=$(cat scripts/bisect.sh)
  cd "$TMP/clone"
  code_of() {
    git checkout -q "HEAD~$1"
    run bash -c "$step" bisect.sh --good "$good" --modes hot
    git checkout -q -
    [ "$status" = "$2" ] || fail "HEAD~$1: $status, not $2: $output"
  }
  good=$(git rev-parse HEAD~7)
  code_of 0 1
  code_of 3 125
  code_of 4 125
  code_of 5 0
  git bisect start HEAD "$good" >/dev/null 2>&1
  run git bisect run bash -c "$step" bisect.sh --good "$good" --modes hot
  [[ $output == *'only skipped commits left'* || $output == *'first bad commit'* ]] || fail "$output"
  git bisect visualize --oneline 2>/dev/null | grep -q '#110' || fail "the slow commit is not among those left"
}

@test "measure_commits.sh measures commits spread over the history, and leaves out what does not build" {
  command -v git >/dev/null || skip "no git"
  fake_repository
  mkdir "$TMP/clone/scripts"
  cp scripts/measure_commits.sh "$TMP/clone/scripts"
  capture "$TMP/clone/scripts/measure_commits.sh" --out "$TMP/measured" --last 3 --of 5 --sweep "$BASE" -- --rounds 3 # commits 4, 6 and 8
  expect_status 1
  expect_out "history $TMP/measured/runs --commits $TMP/measured/commits --html $TMP/measured/history.html"
  expect_err "$(git -C "$TMP/clone" rev-parse --short=12 HEAD~4) does not build"
  [ "$(cat "$TMP/measured/commits")" = "$(git -C "$TMP/clone" rev-parse HEAD~4 HEAD~2 HEAD)" ] || fail "$(cat "$TMP/measured/commits")"
  [ "$(cat "$TMP/measured/runs/"* | paste -sd' ')" = '#110 #110' ] || fail "$(ls "$TMP/measured/runs")"
}

@test "twenty commits of this repository: the steps are those that its log names" {
  local runs=results/h100/history
  must 1 attn history "$runs/runs" --commits "$runs/commits" --json "$TMP/h.json" --html "$TMP/h.html"
  expect_json "$TMP/h.json" 'd["runs"] == 20 == d["runs"] - d["left_out"] and d["series_judged"] == 8'
  # 0a45c8f, "wgmma: small sections", lies in the first range, and 62e6207, "wgmma: sections of all heads", in the second.
  expect_json "$TMP/h.json" '[[s["mode"], c["what"], c["state"], c["good"], c["bad"]] for s in d["series"] for c in s["changes"]
    if s["key"].endswith("D128.bf16.causal")] ==
    [["cold", "slower", "partly reverted", "6ef7065", "a2c534a"], ["cold", "faster", "stands", "0a4e723", "e924b6c"],
     ["hot", "slower", "reverted", "6ef7065", "a2c534a"], ["hot", "faster", "stands", "0a4e723", "e924b6c"]]'
  # On the page the ends of a curve are commits, and the texts of near changes do not cover each other.
  grep -q '>3f142e6</text>' "$TMP/h.html" && grep -q '>e8025f6</text>' "$TMP/h.html" || fail "the ends of the curves"
  [ "$(grep -oE 'y="[0-9]+" text-anchor="start" class="note">[-+][0-9.]+ % (a2c534a|e924b6c)' "$TMP/h.html" | cut -d'"' -f2 | sort | uniq -c | awk '{print $1}' | paste -sd' ')" = "2 2" ] ||
    fail "the texts of changes"
}

@test "the changes of a history fit into 80 columns, and its first line counts them" {
  local runs=results/h100/history
  COLUMNS=80 must 1 attn history "$runs/runs" --commits "$runs/commits"
  expect_out '2 series are slower since a commit; 6 changes in 4 series in all'
  expect_out '+32.2 % 1,16,2048,128 bf16 causal wgmma' 'B,H,S,D' ' a2c534a'
  refute_out '~'
  awk 'length > 80 { exit 1 }' "$OUT" || fail "lines of more than 80 letters"
  COLUMNS=160 must 1 attn history "$runs/runs" --commits "$runs/commits"
  expect_out 'B1.H16.Hkv16.Sq2048.Skv2048.D128.bf16.causal wgmma' 'later changes are in it'
  refute_out 'B,H,S,D'
  python tests/history_runs.py "$BASE" "$TMP/runs" 30 1 1.2
  must 0 attn history "$TMP/runs" --allow-edited
  expect_out 'no series is slower because of a commit; 1 series drifts'
}
