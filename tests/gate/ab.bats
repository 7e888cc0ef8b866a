# tags: long slow asan
# attnbench ab: who measures what, in which order, and what happens when a program misbehaves. The
# variant `steady` (tests/plugins/steady.c) takes as long as the environment says, so a wrapper that sets it is a slower
# or faster program. What makes a verdict is tested elsewhere; here a program is several times slower, so that the noise
# of a busy machine does not matter.
load steady

@test "a slower program is a regression, confirmed by fresh processes: exit 1" {
  must 1 ab --base "$(takes 100)" --keep "$TMP/kept" --base-json "$TMP/base.json" --json "$TMP/new.json"
  expect_out regressed
  [ "$(ls "$TMP/kept" | grep -c '^first-0[0-4]-base\.journal$')" -eq 5 ]
  [ "$(ls "$TMP/kept" | grep -c '^again-0[0-4]-candidate\.journal$')" -eq 5 ]
  for report in base new; do
    python scripts/proof/validate_report.py "$TMP/$report.json"
    expect_json "$TMP/$report.json" '[r["processes"]["hot"]["count"] for r in d["results"]] == [5]'
    expect_json "$TMP/$report.json" 'd["run"]["command"].find(" ab ") > 0 and d["run"]["quick"]'
  done
  expect_json "$TMP/base.json" 'all(100 <= min(r["processes"]["hot"]["median_us"]) < 500 for r in d["results"])'
  expect_json "$TMP/new.json" 'all(600 <= min(r["processes"]["hot"]["median_us"]) for r in d["results"])'
}

@test "a faster program passes, and each pair ran in an order of its own, with a seed that is told" {
  must 0 ab --base "$(takes 2400)" --keep "$TMP/kept" --compare-json "$TMP/compare.json"
  expect_out improved
  order=$(cd "$TMP/kept" && ls -tr -- first-*.journal | sed 's/.*-\(.\).*\.journal/\1/' | tr -d '\n')
  [ "$(fold -w2 <<<"$order" | grep -cE '^(bc|cb)$')" -eq 5 ] || fail "the order was $order"
  candidate_first=$(fold -w2 <<<"$order" | grep -c '^cb$')
  [ "$candidate_first" -eq 2 ] || [ "$candidate_first" -eq 3 ] || fail "the order was $order"
  expect_json "$TMP/compare.json" 'd["settings"]["order_seed"] > 0'
}

@test "a kernel of one's own is compared with its older object, by one program" {
  cp "$STEADY" "$TMP/old.so"
  must 0 decided attn ab --base-load "$TMP/old.so" --load "$STEADY" --sweep "$SWEEP" --device cpu "${COMMON[@]}" --threshold 50 \
    --keep "$TMP/kept" --json "$TMP/new.json"
  for side in base:"$TMP/old.so" candidate:"$STEADY"; do
    grep -qE -- "--load '?${side#*:}[' \"]" "$TMP/kept/first-00-${side%%:*}.journal" || fail "${side%%:*} loaded something else"
  done
  expect_json "$TMP/new.json" '"--base-load" in d["run"]["command"]'
  must 6 attn ab --base-load "$TMP/none.so" --load "$STEADY" --sweep "$SWEEP" --device cpu
  expect_err "$TMP/none.so"
}

# Adds the case B2 to the sweep.
two_cases() { sed -i 's/{"B": 1.*}\]/{"B": 1, "H": 2, "S": 1, "D": 8}, {"B": 2, "H": 2, "S": 1, "D": 8}]/' "$SWEEP"; }

@test "only what is suspected is measured again" {
  two_cases
  export STEADY_SLOW_B=2
  ab --base "$(program even "STEADY_SLOW_B=0 exec \"$ATTNBENCH\" \"\$@\"")" --keep "$TMP/kept"
  # 5 when the noise of this machine left the other cell undecided.
  [ "$status" -eq 1 ] || expect_status 5
  [ "$(grep -c '^{"cell":' "$TMP/kept/first-00-base.journal")" -eq 2 ]
  for journal in "$TMP"/kept/again-*.journal; do
    grep -q '^{"cell":{"key":"B2\.' "$journal" || fail "$journal lacks the suspect"
  done
  grep -q -- '--only B2.H2.Hkv2.Sq1.Skv1.D8.f16.full/steady' "$TMP/kept/again-00-base.journal"
}

@test "modes are measured again in which a row is suspected" {
  must 1 decided attn ab --sweep "$SWEEP" --device cpu --load "$STEADY" --rounds 5 --modes hot,cold --base "$(takes 100)" --keep "$TMP/kept"
  grep -q -- ' --modes hot,cold' "$TMP/kept/first-00-base.journal" || fail "the first set has other modes"
  grep -q -- ' --modes cold,hot' "$TMP/kept/again-00-base.journal" || fail "both were slower"
}

@test "the command of a row measures it again, whatever the thresholds of other cells" {
  two_cases
  must 1 ab --base "$(takes 100)" --threshold-for 'B2.*/steady=50' --only B1.H2.Hkv2.Sq1.Skv1.D8.f16.full/steady
  expect_out regressed
  against "$(baseline 4800)" --threshold-for 'B2.*=50' --only B1.H2.Hkv2.Sq1.Skv1.D8.f16.full/steady
  refute_err 'matches no cell'
}

@test "a wrong candidate is exit 3, whatever its time" {
  candidate=$(program wrong "STEADY_FILE='$TMP/n' STEADY_AT=4 STEADY_HOW=wrong exec \"$ATTNBENCH\" \"\$@\"")
  must 3 ab --base "$ATTNBENCH" --candidate "$candidate"
}

@test "a cell that crashes in one of the candidate's processes is exit 4" {
  candidate=$(program crashing "STEADY_FILE='$TMP/n' STEADY_AT=2 STEADY_HOW=crash exec \"$ATTNBENCH\" \"\$@\"")
  must 4 ab --base "$ATTNBENCH" --candidate "$candidate"
}

@test "a base that is not there, or is not attnbench, is refused before anything is measured" {
  local args=(--sweep "$SWEEP" --device cpu --load "$STEADY")
  expect_refusal 2 '--base is missing' -- ab "${args[@]}"
  expect_refusal 2 'cannot be started: No such file' -- ab "${args[@]}" --base "$TMP/nothing"
  expect_refusal 2 'cannot be started: Permission denied' -- ab "${args[@]}" --base "$SWEEP"
  expect_refusal 2 'does not answer --version as attnbench' -- ab "${args[@]}" --base /bin/true
  expect_refusal 2 '--candidate /bin/false: does not answer' -- ab "${args[@]}" --base "$ATTNBENCH" --candidate /bin/false
}

@test "a base that fails says how, with what it said last" {
  must 9 ab --base "$(program crash 'kill -SEGV $$')"
  expect_err_matches '--base .*/crash: killed by signal 11'
  must 6 ab --base "$(program old 'echo "attnbench: --quick: unknown option of attnbench run" >&2; exit 2')"
  expect_err 'exit status 2: --quick: unknown option of attnbench run; the candidate takes this command'
  must 6 ab --base "$(program silent 'exit 0')"
  expect_err 'left no readable journal'
  must 9 ab --base "$(program other 'echo hello; exit 1')"
  expect_err_matches '--base .*/other: exit status 1'
  expect_no_out
  expect_err_lines 1
}

@test "a newer program whose journals this one cannot read is told from a broken one, with what to do" {
  printf '#!/bin/sh\n[ "$1" != --version ] || exec echo "attnbench 9.1.0 (commit abcdef), CUDA none"\n"%s" "$@" || exit\n%s' \
    "$ATTNBENCH" 'for word; do [ "$before" != --journal ] || sed -i "1s/{/{\"hue\": 1, /" "$word"; before=$word; done' >"$TMP/newer"
  chmod +x "$TMP/newer"
  must 6 ab --base "$ATTNBENCH" --candidate "$TMP/newer"
  expect_err "--candidate $TMP/newer: is attnbench 9.1.0 (commit abcdef); this program, $("$ATTNBENCH" --version | cut -d, -f1), judges and cannot read its journal"
  expect_err 'call `ab` of the newer program, and name the older one with --base'
}

@test "a base that measures another sweep, or stops early, is refused" {
  other=$(write_file other.json '{"attnbench_sweep": 1, "name": "other", "variants": ["cpu_ref"],
    "shapes": [{"B": 1, "H": 1, "S": 8, "D": 8}]}')
  ab --base "$(program other "shift 12; exec \"$ATTNBENCH\" run --quick --sweep '$other' --journal \"\$(ls -d \"\${TMPDIR:-/tmp}\"/attnbench-ab-*)/x\" --json /dev/null")"
  expect_status 6
}

@test "a base that hangs is killed" {
  must 9 ab --base "$(program hang 'sleep 1000')" --timeout 1
  expect_err 'no progress for 6 s, killed'
}

@test "a program that leaves something running is refused, and what it left is killed" {
  candidate=$(program leaves "setsid sh -c 'echo \$\$ >>\"$TMP/left\"; exec sleep 987' >/dev/null 2>&1 & exec \"$ATTNBENCH\" \"\$@\"")
  must 9 ab --base "$ATTNBENCH" --candidate "$candidate"
  expect_err "--candidate $candidate: left a process running behind it"
  while read -r pid; do ! kill -0 "$pid" 2>/dev/null || fail "it runs on"; done <"$TMP/left"
  [ -s "$TMP/left" ] || fail "nothing was left running"
}

@test "a base that changes between its rounds is refused" {
  cp "$ATTNBENCH" "$TMP/base-program"
  candidate=$(program changes "cd '$TMP' && cp \"$ATTNBENCH\" other && echo \$\$ >>other && mv other base-program && cd '$ROOT'; exec \"$ATTNBENCH\" \"\$@\"")
  must 6 ab --base "$TMP/base-program" --candidate "$candidate"
  expect_err "the rounds differ in the program"
}

@test "a candidate with a clock of its own is not judged: exit 6" {
  two_cases
  candidate=$(program halves "LD_PRELOAD='$(dirname "$STEADY")/half_clock.so'\${LD_PRELOAD:+:\$LD_PRELOAD} exec \"$ATTNBENCH\" \"\$@\"")
  must 6 ab --base "$ATTNBENCH" --candidate "$candidate" --compare-json "$TMP/compare.json" --markdown "$TMP/compare.md"
  expect_out 'growth of the journals'
  expect_json "$TMP/compare.json" '[i["key"] for i in d["identity"]["differences"] if i["fatal"]].count("growth of the journals") == 1'
  grep -q 'by the clock of the judge' "$TMP/compare.md"
}

@test "what the user got wrong is told as the run tells it" {
  local args=(--base "$ATTNBENCH" --load "$STEADY" --timeout 60)
  expect_refusal 7 "$TMP/none.json" -- ab "${args[@]}" --sweep "$TMP/none.json"
  expect_refusal 2 'not a variant' -- ab "${args[@]}" --sweep "$SWEEP" --variants stedy
  expect_refusal 2 'keeps none' -- ab "${args[@]}" --sweep "$SWEEP" --filter D=99
  expect_refusal 2 'too few; give 5 to 32' -- ab "${args[@]}" --sweep "$SWEEP" --rounds 4
  expect_refusal 77 'CUDA' -- ab "${args[@]}" --sweep "$SWEEP" --device cuda
  expect_refusal 8 'not a new or empty folder' -- ab "${args[@]}" --sweep "$SWEEP" --keep "$ROOT/cli"
  expect_refusal 8 '--base-json' -- ab "${args[@]}" --sweep "$SWEEP" --base-json "$TMP/no/such.json"
}

@test "an interrupted ab ends its processes, keeps what --keep asks for and says 130 or 143" {
  for signal in INT:130 TERM:143; do
    rm -rf "$TMP/kept" "$TMP/processes"
    hold_at 4
    env --default-signal=INT "$ATTNBENCH" ab --base "$ATTNBENCH" \
      --sweep "$SWEEP" --device cpu --load "$STEADY" "${COMMON[@]}" --keep "$TMP/kept" --json "$TMP/new.json" --base-json "$TMP/base.json" 2>"$ERR" &
    local run=$! child=
    wait_for_hold
    child=$(children_of "$run")
    [ -n "$child" ] || fail "no process of ab was running"
    kill "-${signal%:*}" "$run"
    ended "$run" "${signal#*:}"
    expect_err "journals so far are kept in $TMP/kept"
    [ ! -d "/proc/$child" ] || fail "process $child was left"
    [ "$(ls "$TMP/kept" | grep -c 'journal$')" -eq 4 ]
    # Three processes ended: two of one program, one of the other.
    for side in base new; do
      expect_json "$TMP/$side.json" 'd["run"]["state"] == "interrupted"'
    done
    python - "$TMP/base.json" "$TMP/new.json" <<'PYTHON' || fail "not three processes"
import json, sys
counts = [json.load(open(path))["results"][0].get("processes", {}).get("hot", {}).get("count", 1) for path in sys.argv[1:]]
sys.exit(sum(counts) != 3)
PYTHON
  done
}

@test "an interrupted ab that nobody asked for reports leaves its journals and says where" {
  mkdir "$TMP/t"
  hold_at 3
  TMPDIR=$TMP/t env --default-signal=INT "$ATTNBENCH" ab --base "$ATTNBENCH" --sweep "$SWEEP" --device cpu --load "$STEADY" \
    "${COMMON[@]}" >"$OUT" 2>"$ERR" &
  interrupt $!
  expect_err "journals so far are kept in $(echo "$TMP"/t/attnbench-ab-*)"
  [ -s "$(echo "$TMP"/t/attnbench-ab-*)/first-00-candidate.journal" ]
}

@test "an ab that was killed goes on with the pairs that are whole, in its old order, and with no other comparison" {
  local base words=(ab --sweep "$SWEEP" --device cpu --load "$STEADY" --modes hot --keep "$TMP/kept" --quiet)
  base=(--base "$(takes 2400)")
  hold_at 4
  "$ATTNBENCH" "${words[@]}" "${base[@]}" --rounds 5 --resume &
  wait_for_hold
  kill -KILL $!
  ended $! 137
  seed=$(json "$TMP/kept/ab.json" 'd["order_seed"]')
  before=$(cd "$TMP/kept" && stat -c '%n %i %Y' first-00-*.journal)
  export STEADY_AT=0
  expect_refusal 8 'not a new or empty folder' -- "${words[@]}" "${base[@]}" --rounds 5
  expect_refusal 6 'it has 5 rounds' -- "${words[@]}" "${base[@]}" --resume --rounds 6
  expect_refusal 6 'at --seed their command says "1" where this one says "2"' -- "${words[@]}" "${base[@]}" --rounds 5 --resume --seed 2
  expect_refusal 6 "the base's program, or an object that it loads, has changed" -- "${words[@]}" --rounds 5 --resume --base "$ATTNBENCH"
  attn "${words[@]}" "${base[@]}" --rounds 5 --resume --compare-json "$TMP/compare.json"
  [ "$status" -eq 0 ] || expect_status 5 # a busy machine may leave it undecided, and look again
  expect_json "$TMP/compare.json" "d['settings']['order_seed'] == $seed"
  [ "$before" = "$(cd "$TMP/kept" && stat -c '%n %i %Y' first-00-*.journal)" ] || fail "the first pair was measured again"
  local first='first-*.journal' again='again*.journal' count
  count=$(wc -c <"$TMP/processes")
  # The one that was cut off and its other side were measured twice.
  [ "$count" -eq $((2 + $(cd "$TMP/kept" && ls $first $again 2>/dev/null | wc -l))) ] || fail "$count processes: $(ls "$TMP/kept")"
  attn "${words[@]}" "${base[@]}" --rounds 5 --resume
  [ "$(wc -c <"$TMP/processes")" -eq "$count" ] || fail "a comparison that was whole measured again"
  printf '{' >"$TMP/kept/ab.json"
  expect_refusal 7 'ab.json:1' -- "${words[@]}" "${base[@]}" --rounds 5 --resume
  expect_refusal 2 '--resume does nothing without --keep' -- ab --base "$ATTNBENCH" --sweep "$SWEEP" --resume
}

# The same without --rounds, until the verdict is clear: the threshold is far above the noise of a busy machine.
in_steps() {
  decided attn ab --sweep "$SWEEP" --device cpu --load "$STEADY" --modes hot --threshold 50 --compare-json "$TMP/compare.json" "$@"
}

@test "without --rounds the measurement ends when the verdict is clear, and says so" {
  must 0 in_steps --base "$ATTNBENCH" --keep "$TMP/kept" --json "$TMP/new.json"
  measured=$(json "$TMP/compare.json" 'd["pairs"]["measured"]')
  [ "$(ls "$TMP/kept" | grep -c '^first-.*journal$')" -eq $((2 * measured)) ]
  expect_json "$TMP/compare.json" 'd["pairs"]["most"] == 7 and d["pairs"]["measured"] in (3, 5, 7)'
  expect_json "$TMP/compare.json" '(d["pairs"]["stopped"] == "every verdict was clear") == (d["pairs"]["measured"] < 7)'
  expect_json "$TMP/new.json" "[r['processes']['hot']['count'] for r in d['results']] == [$measured]"
  expect_out "$measured of at most 7 pairs of processes"
  expect_valid results/compare.schema.json "$TMP/compare.json"
  must 0 in_steps --base "$ATTNBENCH" --rounds 5
  expect_json "$TMP/compare.json" 'd["pairs"] == {"measured": 5, "most": 5, "rows_clear_before": 0, "stopped": "as many as --rounds says"}'
}

@test "a candidate whose clock may be its own is measured on until that is told" {
  candidate=$(program halves "LD_PRELOAD='$(dirname "$STEADY")/half_clock.so'\${LD_PRELOAD:+:\$LD_PRELOAD} exec \"$ATTNBENCH\" \"\$@\"")
  must 6 in_steps --base "$ATTNBENCH" --candidate "$candidate"
  expect_json "$TMP/compare.json" 'd["pairs"]["measured"] >= 5'
}

@test "processes that stand out take all pairs, and more" {
  base=$(program restless 'n=$(cat "$TMP/n" 2>/dev/null || echo 0); [ "$1" = --version ] || echo $((n + 1)) >"$TMP/n"
    STEADY_US=$((600 + 3000 * (n % 2))) exec "$ATTNBENCH" "$@"')
  export TMP ATTNBENCH
  attn ab --sweep "$SWEEP" --device cpu --load "$STEADY" --modes hot --threshold 50 --base "$base" --compare-json "$TMP/compare.json"
  expect_json "$TMP/compare.json" 'd["pairs"] == {"measured": 7, "most": 7, "rows_clear_before": 0, "stopped": "as many as there may be"}'
}

@test "a cell that is clear is not measured further, and the report says so and can be read again" {
  two=$(write_file two.json '{"attnbench_sweep": 1, "name": "two", "variants": ["steady"],
    "shapes": [{"B": 1, "H": 2, "S": 1, "D": 8}, {"B": 2, "H": 2, "S": 1, "D": 8}]}')
  # Every second process is slower in the second cell.
  base=$(program restless 'n=$(cat "$TMP/n" 2>/dev/null || echo 0); [ "$1" = --version ] || echo $((n + 1)) >"$TMP/n"
    [ $((n % 2)) -eq 1 ] || export STEADY_SLOW_B=2
    exec "$ATTNBENCH" "$@"')
  export TMP ATTNBENCH
  for _ in 1 2 3 4 5; do # a busy machine may leave the first cell unclear, too
    rm -rf "$TMP/kept"
    attn ab --sweep "$two" --device cpu --load "$STEADY" --modes hot --threshold 50 --base "$base" --candidate "$base" \
      --compare-json "$TMP/compare.json" --base-json "$TMP/base.json" --json "$TMP/new.json" --keep "$TMP/kept"
    [ "$(json "$TMP/compare.json" 'd["pairs"]["rows_clear_before"]')" != 1 ] || break
  done
  expect_json "$TMP/compare.json" 'd["pairs"]["measured"] == 7 and d["pairs"]["rows_clear_before"] == 1'
  [[ "$(tr -s ' \n' ' ' <"$OUT")" = *'1 of 2 rows were clear after fewer'* ]] || fail 'no word on the clear row'
  expect_json "$TMP/new.json" '[r["processes"]["hot"]["count"] for r in d["results"]] in ([3, 7], [5, 7]) and d["run"]["in_steps"] is True'
  expect_valid results/compare.schema.json "$TMP/compare.json"
  expect_valid results/report.schema.json "$TMP/new.json"
  attn report "$TMP/kept/first-06-base.journal" --json "$TMP/last.json"
  expect_json "$TMP/last.json" '[r["shape"]["B"] for r in d["results"]] == [2]'
  must 0 attn report "$TMP/new.json"
  attn compare "$TMP/base.json" "$TMP/new.json" --json "$TMP/again.json"
  expect_json "$TMP/again.json" 'd["identity"]["comparable"]'
}

@test "a comparison in steps that was killed goes on, and ends where it would have" {
  local words=(ab --sweep "$SWEEP" --device cpu --load "$STEADY" --modes hot --threshold 50 --keep "$TMP/kept" --quiet --base "$ATTNBENCH")
  hold_at 4
  "$ATTNBENCH" "${words[@]}" --resume &
  wait_for_hold
  kill -KILL $!
  ended $! 137
  export STEADY_AT=0
  expect_refusal 6 'it has no --rounds' -- "${words[@]}" --resume --rounds 7
  attn "${words[@]}" --resume --compare-json "$TMP/compare.json"
  [ "$status" -eq 0 ] || expect_status 5
  measured=$(json "$TMP/compare.json" 'd["pairs"]["measured"]')
  [ "$(ls "$TMP/kept" | grep -c '^first-.*journal$')" -eq $((2 * measured)) ]
  count=$(wc -c <"$TMP/processes")
  attn "${words[@]}" --resume --compare-json "$TMP/compare.json"
  [ "$(wc -c <"$TMP/processes")" -eq "$count" ] || fail "a comparison that was whole measured again"
  expect_json "$TMP/compare.json" "d['pairs']['measured'] == $measured"
}

@test "a report that cannot be written costs no verdict, and its processes are kept" {
  mkdir "$TMP/t"
  TMPDIR=$TMP/t must 8 ab --base "$(takes 100)" --json /dev/full
  expect_out regressed
  expect_err "journals so far are kept in $(echo "$TMP"/t/attnbench-ab-*)"
}

@test "a threshold for no cell is refused after one process" {
  export STEADY_FILE=$TMP/n
  must 2 ab --base "$ATTNBENCH" --threshold-for '*/nothing=5'
  expect_err 'matches no cell'
  [ "$(wc -c <"$TMP/n")" -eq 1 ]
}

@test "a start that was refused leaves a folder to keep as empty as it was" {
  must 2 ab --base "$(program other 'exit 0')x" --keep "$TMP/kept"
  must 0 ab --base "$(takes 2400)" --keep "$TMP/kept"
}

@test "the last line of a program that says much is told" {
  must 9 ab --base "$(program loud 'yes | head -c 3000000 >&2; echo "attnbench: the reason" >&2; exit 9')"
  expect_err 'exit status 9: the reason'
}

@test "nothing is left in the temporary folder" {
  mkdir "$TMP/t"
  TMPDIR=$TMP/t must 6 ab --base "$(program silent 'mkdir "$(dirname "$(ls -d "$TMPDIR"/attnbench-ab-*/first*.log | tail -n 1)")/more"')"
  [ -z "$(ls -A "$TMP/t")" ] || fail "left: $(ls -A "$TMP/t")"
}
