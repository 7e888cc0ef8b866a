# tags: long slow asan
load ../helper

# A report of one process each for a plain run: enough for identity, coverage and the exit codes that need no rounds.
setup() {
  sweep=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 16, "D": 16}],
    "variants": ["cpu_ref", "cpu_flash"], "gate": {"threshold_percent": 3, "cases": {"*/cpu_ref": 40}}}')
}

# measure NAME: a run of the sweep; the run of that name and sweep that another test measured where there is one.
measure() {
  local kept
  kept=${BATS_FILE_TMPDIR:-$TMP}/kept/$(cksum <"$sweep" | tr ' ' -)/$1
  if [ ! -e "$kept.json" ]; then
    mkdir -p "${kept%/*}"
    "$ATTNBENCH" --sweep "$sweep" --device cpu --quick --json "$kept.json" --journal "$kept.journal" >/dev/null 2>&1
  fi
  cp "$kept.json" "$kept.journal" "$TMP"
}

# edit IN OUT STATEMENTS: Python over the document d.
edit() {
  python -c '
import json, sys
d = json.load(open(sys.argv[1]))
exec(sys.argv[3])
statuses = [r["status"] for r in d["results"]]
for status in set(d["summary"]) - {"cells", "exit_code"}:
    d["summary"][status] = statuses.count(status)
d["summary"]["cells"] = len(statuses)
lost = len(statuses) < d["run"]["cells"] or set(statuses) - {"ok", "wrong", "skipped", "planned"}
d["summary"]["exit_code"] = 3 if "wrong" in statuses else 4 if lost else 0
json.dump(d, open(sys.argv[2], "w"))' "$TMP/$1.json" "$TMP/$2.json" "$3"
  drop_checksums "$TMP/$2.json"
}

compare() { attn compare "$TMP/$1.json" "$TMP/$2.json" "${@:3}"; }

# repeat IN OUT N FACTOR: the report as if N processes had measured it, all times multiplied, that of launches on changed
# inputs too, each process off by up to 0.2 % in a fixed pattern.
repeat() {
  edit "$1" "$2" "
for r in d['results']:
    r['processes'] = {}
    r['check']['evidence']['changed_us'] = 100 * $4
    for m in ('cold', 'hot'):
        medians = [100 * $4 * (1 + (i * 7 % 5 - 2) / 1000) for i in range($3)]
        for key, factor in (('min', 0.98), ('p25', 0.99), ('median', 1), ('p75', 1.01), ('p95', 1.02), ('max', 1.03), ('ci95_low', 0.99), ('ci95_high', 1.01)):
            r['time'][m][key + '_us'] = medians[0] * factor
        r['time'][m]['mad_us'] = medians[0] * 0.005
        r['time'][m]['stop'] = 'budget'
        r['time'][m]['elapsed_s'] = r['time'][m]['n'] * r['time'][m]['launches_per_sample'] * medians[0] * 2e-6
        r['wall_s'] += r['time'][m]['elapsed_s']
        d['run']['wall_s'] += r['time'][m]['elapsed_s']
        r['processes'][m] = {'count': $3, 'median_us': medians,
                             'sm_clock_mhz': [None] * $3, 'throttle_reasons': [[]] * $3}
d['tool']['git_commit'] = '0123abc'"
}

@test "compare: slower by 3 % is exit 1, by 1 % and faster exit 0" {
  sweep=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 16, "D": 16}],
    "variants": ["cpu_ref", "cpu_flash"]}')
  measure a
  repeat a base 7 1
  repeat a same 7 1.01
  repeat a slow 7 1.03
  repeat a fast 5 0.5
  must 0 compare base same
  expect_no_err
  must 1 compare base slow
  expect_out regressed
  must 0 compare base slow --threshold 5
  must 1 compare base slow --threshold-for '*/cpu_ref=5' --json "$TMP/c.json"
  expect_json "$TMP/c.json" '[(r["variant"], r["verdict"]) for r in d["rows"]] == [("cpu_flash", "regressed")] * 2 + [("cpu_ref", "same")] * 2'
  must 0 compare base fast
  expect_out improved
  must 1 compare fast base
}

@test "gate --selftest: rates from a report of many processes" {
  measure a
  repeat a many 28 1
  must 0 attn gate --selftest --from "$TMP/many.json" --json "$TMP/gate.json"
  expect_no_err
  expect_out "0 of 4000 suites without any change failed"
  expect_json "$TMP/gate.json" 'd["schema"] == "attnbench.selftest/1" and d["method"]["processes"] == 28 and d["method"]["rounds"] == 7'
  expect_json "$TMP/gate.json" '[s["paired"] for s in d["suites"]] == [True, False] and len(d["cases"]) == 4'
  # cpu_ref has a threshold of 40 % in the sweep: 3 % is not for it to find.
  expect_json "$TMP/gate.json" 'all((c["found_3_percent"] > 0.99) == (c["variant"] == "cpu_flash") for c in d["cases"])'
  repeat a few 9 1
  expect_refusal 6 'need at least 10' -- gate --selftest --from "$TMP/few.json" --rounds 5
}

@test "gate --selftest: says how many processes it needs, and takes one source of them" {
  expect_refusal 2 'at least 14' -- gate --selftest --sweep "$sweep" --processes 13
  expect_refusal 2 '--processes 9 is too few; give 10 to 64' -- gate --selftest --sweep "$sweep" --rounds 5 --processes 9
  expect_refusal 2 'one of --sweep, --shape and --from' -- gate --selftest --sweep "$sweep" --from "$TMP/many.journal"
}

# What a busy CPU makes of the slowdowns is not for this test; that they are tried, told and counted is.
@test "gate --selftest: puts real slowdowns in, and its exit code says whether all were found" {
  attn gate --selftest --sweep "$sweep" --device cpu --modes hot --filter S=16 --variants cpu_flash --threshold 50 \
    --rounds 5 --processes 10 --controls 1 --json "$TMP/gate.json"
  expect_json "$TMP/gate.json" 'len(d["controls"]) == 1 and d["controls"][0]["percent"] == 75'
  expect_json "$TMP/gate.json" 'all(c["key"] == d["cases"][0]["key"] and c["mode"] == "hot" for c in d["controls"])'
  put_in=$(json "$TMP/gate.json" '[c["verdict"] == "regressed" for c in d["controls"] if c["injected_ratio"]]')
  case $put_in in *false*) expect_status 5 ;; *) expect_status 0 ;; esac
  expect_out 'were found by a real gate run'
  expect_refusal 2 '--controls 21 is too many; give 0 to 20' -- gate --selftest --sweep "$sweep" --controls 21
  expect_refusal 2 'give --sweep, not --from' -- gate --selftest --from "$TMP/gate.json" --controls 1
}

@test "gate --selftest: cells that are wrong give no rates" {
  wrong=$(write_file w.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 16, "D": 16}],
    "variants": ["cpu_flash", "fault_nan"]}')
  must 3 attn_faulty gate --selftest --sweep "$wrong" --device cpu --modes hot --rounds 5 --processes 10
  expect_no_out
  expect_err "1 of 2 cells failed (1 wrong), first: B1.H1.Hkv1.Sq16.Skv16.D16.f16.full fault_nan"
}

@test "compare: one process decides nothing, exit 5, or 0 with --noise=warn" {
  measure a
  must 5 compare a a
  expect_out inconclusive
  expect_err_lines 1
  must 0 compare a a --noise warn
  expect_no_err
  must 5 compare a a --noise=fail
}

@test "compare: a report and the journal it came from are the same evidence" {
  measure a
  compare a a --json "$TMP/one.json"
  must 5 attn compare "$TMP/a.journal" "$TMP/a.json" --json "$TMP/two.json"
  cmp "$TMP/one.json" "$TMP/two.json"
}

@test "compare: the same reports give the same bytes in every format" {
  measure a
  edit a b '
row = d["results"][0]
row["wall_s"] *= 2
d["run"]["wall_s"] *= 2
row["time"]["hot"].update({k: 2 * v for k, v in row["time"]["hot"].items() if k.endswith(("_us", "_s"))})'
  for format in json markdown junit annotations; do
    compare a b "--$format" -
    cp "$OUT" "$TMP/first"
    must 5 compare a b "--$format" -
    cmp "$OUT" "$TMP/first"
    [ -s "$OUT" ]
  done
  compare a b --json "$TMP/c.json"
  python scripts/proof/validate_report.py "$TMP/c.json"
}

@test "compare: the sweep's thresholds hold, and the command line wins" {
  measure a
  compare a a --json - --floor-us 0
  expect_json "$OUT" 'd["settings"]["threshold_ratio"] == 0.03'
  expect_json "$OUT" '{r["variant"]: r["threshold_ratio"] for r in d["rows"]} == {"cpu_ref": 0.4, "cpu_flash": 0.03}'
  compare a a --json - --floor-us 0 --threshold 7 --threshold-for '*/cpu_ref=9' --threshold-for 'B1.*/cpu_flash=11'
  expect_json "$OUT" '{r["variant"]: r["threshold_ratio"] for r in d["rows"]} == {"cpu_ref": 0.09, "cpu_flash": 0.11}'
}

@test "compare: --modes chooses what is judged" {
  measure a
  compare a a --json - --modes hot
  expect_json "$OUT" '{r["mode"] for r in d["rows"]} == {"hot"} and len(d["rows"]) == 2'
  expect_refusal 2 '--modes: "warm" is not a mode' -- compare "$TMP/a.json" "$TMP/a.json" --modes warm
}

@test "compare: a wrong result is exit 3" {
  measure a
  edit a b 'r = d["results"][1]; r["status"] = "wrong"; r["reason"] = "3 of 4 elements"; r["time"] = None'
  must 3 compare a b
  expect_out "3 of 4 elements"
}

@test "compare: a cell that went missing is exit 4" {
  measure a
  edit a b 'del d["results"][1]'
  must 4 compare a b
  expect_out missing
  edit a c 'r = d["results"][0]; r["status"] = "crashed"; r["reason"] = "signal 11"; r["time"] = None'
  must 4 compare a c --noise warn
  expect_out "signal 11"
}

@test "compare: a new cell is exit 4 without --allow-new" {
  measure a
  edit a base 'del d["results"][1]; d["run"]["cells"] = 1'
  must 4 compare base a --noise warn
  must 0 compare base a --noise warn --allow-new
}

@test "compare: nothing in common is exit 4, whatever is allowed" {
  measure a
  edit a base 'del d["results"][1]; d["run"]["cells"] = 1'
  edit a now 'del d["results"][0]; d["run"]["cells"] = 1'
  must 4 compare base now --noise warn --allow-new
}

@test "compare: unlike machines are exit 6 and every difference stands in two columns" {
  measure a
  edit a b 'd["device"]["name"] = "Other CPU"; d["device"]["memory_bytes"] *= 3'
  must 6 compare a b
  expect_out "Other CPU"
  expect_out memory
  edit a c 'd["sweep"]["hash"] = "0123456789abcdef"'
  must 6 compare a c
  edit a e 'd["run"]["seed"] = 77'
  must 6 compare a e
  edit a f 'd["tool"]["git_commit"] = "fffffff"'
  must 0 compare a f --noise warn
  expect_out fffffff
}

@test "compare: a file that is not a report is exit 7, and names the place" {
  measure a
  no=$(write_file no.json '{"schema": "attnbench.report/2"}')
  expect_refusal 7 'no.json:1:' -- compare "$TMP/a.json" "$no"
  no=$(write_file no.json '{"schema": ')
  expect_refusal 7 'no.json' -- compare "$no" "$TMP/a.json"
  expect_refusal 7 'nowhere.json' -- compare "$TMP/a.json" "$TMP/nowhere.json"
  times=tests/data/times_s0.json
  expect_refusal 7 'holds times entered by hand' -- compare "$times" "$times"
}

@test "compare: a report that contradicts itself is exit 7, and names the place" {
  local cell
  measure a
  edit a twice 'd["results"].append(d["results"][0])'
  cell=$(json "$TMP/a.json" 'd["results"][0]["key"]' | tr -d '"')
  expect_refusal 7 "results[2] is cell $cell of cpu_ref, which appears twice" -- compare "$TMP/a.json" "$TMP/twice.json"
  expect_err_matches '^attnbench: .*/twice\.json:[0-9]+:[0-9]+: '
  sed '0,/"results"/s//"results": [], &/' "$TMP/a.json" >"$TMP/keys.json"
  expect_refusal 7 'results appears twice in its object' -- compare "$TMP/keys.json" "$TMP/a.json"
  edit a gate 'd["sweep"]["gate"]["threshold_percent"] = 1e9'
  expect_refusal 7 'sweep.gate has a threshold that is not from 0.5 to 50 percent' -- compare "$TMP/a.json" "$TMP/gate.json"
  edit a gate 'd["sweep"]["gate"]["cases"][0]["threshold_percent"] = 0'
  expect_refusal 7 'sweep.gate has a threshold' -- compare "$TMP/gate.json" "$TMP/a.json"
  edit a evil 'd["results"][0]["key"] = "x\n::error::y"'
  expect_refusal 7 'key "x?::error::y" does not name its shape' -- compare "$TMP/evil.json" "$TMP/a.json"
  expect_err_lines 1
  local ratio tampered
  ratio='"ratio": 2.0, "ci95_low": 1.9, "ci95_high": 2.1, "rounds": 9, "event_overhead_us": 0, "drift_ratio": 0, "sm_clock_mhz": 1980'
  edit a fine "d['results'][0]['speedup_vs'] = {'reference': 'cpu_flash', 'cold': None, 'hot': {$ratio}}"
  must 0 attn report "$TMP/fine.json"
  for tampered in '"ratio": 3.0' '"ratio": 0' '"ratio": -2.0' '"ci95_low": 2.05' '"ci95_high": 1e999' '"rounds": 0' '"drift_ratio": -1' '"sm_clock_mhz": 0'; do
    edit a evil "d['results'][0]['speedup_vs'] = {'reference': 'cpu_flash', 'cold': None, 'hot': {$ratio, $tampered}}"
    must 7 attn report "$TMP/evil.json"
  done
}

@test "compare: usage errors are exit 2" {
  measure a
  expect_refusal 2 'needs 2 reports, 1 given' -- compare "$TMP/a.json"
  expect_refusal 2 'takes at most 2' -- compare a b c
  expect_refusal 2 '--threshold 0.1 is too small; give 0.5 to 50' -- compare a b --threshold 0.1
  expect_refusal 2 '--threshold 60 is too large; give 0.5 to 50' -- compare a b --threshold 60
  expect_refusal 2 '--threshold-for */x is not GLOB=PERCENT' -- compare a b --threshold-for '*/x'
  expect_refusal 2 '--threshold-for =3 is not GLOB=PERCENT' -- compare a b --threshold-for '=3'
  expect_refusal 2 '--noise maybe is not one of fail|warn' -- compare a b --noise maybe
  expect_refusal 2 '--floor-us -1 is too small; give 0 to 5' -- compare a b --floor-us=-1
  expect_refusal 2 'cannot share stdout' -- compare a b --json - --junit -
  expect_refusal 2 'matches no cell' -- compare "$TMP/a.json" "$TMP/a.json" --threshold-for '*/cpu_rff=5'
}

@test "compare: an output that cannot be written is exit 8" {
  measure a
  expect_refusal 8 '/nowhere/x' -- compare "$TMP/a.json" "$TMP/a.json" --markdown /nowhere/x
}

@test "compare: an output that cannot be written takes no other with it" {
  [ -e /dev/full ] || skip "no /dev/full here"
  measure a
  must 8 compare a a --json /dev/full --markdown "$TMP/a.md" --junit "$TMP/a.xml"
  expect_err '/dev/full: cannot write'
  expect_err_lines 1
  expect_out 'exit code 5'
  grep -q 'exit code 5' "$TMP/a.md"
  [ -s "$TMP/a.xml" ]
}

@test "gate: says what it needs" {
  expect_refusal 2 '--selftest' -- gate
  expect_refusal 2 '--rounds 4 is too few; give 5 to 32' -- gate --selftest --from x --rounds 4
  measure a
  expect_refusal 6 'holds one process' -- gate --selftest --from "$TMP/a.json"
}

@test "a sweep's gate is refused at its place" {
  bad=$(write_file bad.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 16, "D": 16}],
"gate": {"threshold_percent": 80}}')
  expect_refusal 7 'bad.json:2:31: gate.threshold_percent is 80' -- --sweep "$bad"
}

# The generator's own list is 1400 long; a seventh of it runs here, another one each time it grows.
@test "compare: a report that somebody has tampered with never passes" {
  local base=tests/data/gate_h200.json file what
  mkdir "$TMP/tampered"
  must 0 attn compare "$base" "$base"
  python tests/tamper.py "$base" "$TMP/tampered" 11 >"$TMP/list"
  [ "$(wc -l <"$TMP/list")" -ge 150 ]
  while IFS=$'\t' read -r file what; do
    attn compare "$base" "$file"
    case $status in
      1 | 3 | 4 | 5 | 6 | 7) ;;
      *) fail "$what: exit status $status" ;;
    esac
  done <"$TMP/list"
}

@test "compare: a floor that hides every slowdown decides nothing" {
  sweep=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 16, "D": 16}],
    "variants": ["cpu_ref"]}')
  measure a
  repeat a base 7 0.02
  repeat a slow 7 0.03
  must 5 compare base slow --floor-us 1
  expect_out 'choose a smaller floor'
  must 2 attn compare "$TMP/base.json" "$TMP/slow.json" --floor-us 100
}

@test "compare: reports of one process each say once what to do" {
  sweep=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 16, "D": 16},
    {"B": 2, "H": 1, "S": 16, "D": 16}, {"B": 3, "H": 1, "S": 16, "D": 16}], "variants": ["cpu_ref"]}')
  measure a
  must 5 compare a a
  [ "$(grep -c 'what to do' "$OUT")" -eq 1 ]
  [ "$(grep -c 'again:' "$OUT")" -eq 0 ]
  # All rows say one thing: the summary has it, once, and no table follows.
  [ "$(head -1 "$OUT")" = "UNDECIDED, exit code 5: 6 of 6 rows cannot be judged: 1 process each, 3 needed" ] || fail "$(cat "$OUT")"
  expect_out 'what to do: name the reports of two runs: both sides are one file'
  expect_out '6 rows have the verdict inconclusive: +0.00 %; only 1 process of the base'
  refute_out 'change = '
  expect_err 'attnbench: 6 of 6 rows: 6 inconclusive: 1 process each, 3 needed'
  repeat a other 1 0.5
  repeat a first 1 1
  must 5 compare first other
  expect_out 'what to do: measure both sides again with more processes, as the commands below do'
  expect_out_matches '^  base: .* --rounds 7 --json again-base.json$'
  expect_out_matches '^  new:  .* --rounds 7 --json again-new.json$'
  expect_out '  then: attnbench compare again-base.json again-new.json'
  [ "$(grep -o "only 1 process of" "$OUT" | wc -l)" -eq 1 ] || fail "not once"
  repeat a base 7 1
  must 0 compare base base
  expect_out 'both sides are one file'
}
