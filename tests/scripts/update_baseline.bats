# tags: slow unsanitized
# scripts/update_baseline.py over fabricated reports, in a repository of its own. The program that compares is a stand-in
# that answers as it is told, but for the last test.
load ../helper

setup() {
  need_git
  need_jsonschema # the script does
  export PYTHONDONTWRITEBYTECODE=1
  REPO=$TMP/repo
  mkdir -p "$REPO/scripts/proof" "$REPO/results" "$REPO/cli" "$REPO/kernels" "$REPO/shapes"
  cp scripts/update_baseline.py "$REPO/scripts"
  cp -r scripts/lib "$REPO/scripts"
  cp scripts/proof/validate_report.py "$REPO/scripts/proof"
  cp results/*.schema.json "$REPO/results"
  echo one >"$REPO/cli/main.c"
  touch "$REPO/Makefile" "$REPO/kernels/k.cu" "$REPO/shapes/s.json"
  python - "$REPO" <<'PATCH'
import json, sys
path = sys.argv[1] + "/results/report.schema.json"
schema = json.load(open(path))
schema["$defs"]["result"]["properties"].setdefault("processes", {})
schema["properties"]["run"]["properties"].setdefault("profiled", {})
json.dump(schema, open(path, "w"))
PATCH
  git -C "$REPO" init -q
  commit start
  export ATTNBENCH_STUB=$TMP/attnbench BASELINE=$REPO/results/h200/baseline/v3.json
  make_report good
}

commit() {
  git -C "$REPO" add -A
  git -C "$REPO" -c user.name=test -c user.email=test@example.com commit -q -m "$1"
}

# make_report NAME [STATEMENT]: $TMP/NAME.json, a report of five quiet processes of what is committed; a Python statement
# over the document d changes it.
make_report() {
  "$ATTNBENCH" report tests/data/report_gpu.jsonl --json "$TMP/whole.json" || true
  python - "$TMP/whole.json" "$TMP/$1.json" "$(git -C "$REPO" rev-parse --short HEAD)" "${2:-}" <<'MAKE'
import json, sys
d = json.load(open(sys.argv[1]))
d["tool"]["git_commit"] = sys.argv[3]
d["results"] = [r for r in d["results"] if r["status"] in ("ok", "skipped")]
d["run"]["cells"] = d["summary"]["cells"] = len(d["results"])
d["summary"].update(wrong=0, crashed=0, exit_code=0)
for r in d["results"]:
    for mode, time in (r["time"] or {}).items():
        time["settled"], time["throttle_reasons"] = True, []
        medians = [time["median_us"] * (1 + 0.001 * i) for i in range(5)]
        r.setdefault("processes", {})[mode] = {"count": 5, "median_us": medians, "sm_clock_mhz": [1980] * 5,
                                               "throttle_reasons": [[]] * 5}
exec(sys.argv[4])
json.dump(d, open(sys.argv[2], "w"))
MAKE
  drop_checksums "$TMP/$1.json"
}

# answer CODE [VERDICT]: what the stand-in finds, from the comparison of tests/gate/unit_compare_sinks.c.
answer() {
  python - "$1" "${2:-same}" "$TMP/answer.json" <<'MAKE'
import json, sys
code, verdict = int(sys.argv[1]), sys.argv[2]
d = json.load(open("tests/data/compare_unlike.json" if code == 6 else "tests/data/compare_lenient.json"))
d["rows"] = [r for r in d["rows"] if r["verdict"] == "same"][:1]
for r in d["rows"]:
    r["verdict"], r["time_ratio"], r["reason"] = verdict, 1.045, "slower in every process"
d["summary"]["exit_code"] = code
json.dump(d, open(sys.argv[3], "w"))
MAKE
  cat >"$ATTNBENCH_STUB" <<STUB
#!/bin/sh
echo "\$1 \$2" >>"$TMP/asked"
while [ "\$1" != --json ]; do shift; done
cp "$TMP/answer.json" "\$2"
exit $1
STUB
  chmod +x "$ATTNBENCH_STUB"
}

promote() {
  local report=$1
  shift
  ATTNBENCH=$ATTNBENCH_STUB capture python "$REPO/scripts/update_baseline.py" "$TMP/$report.json" --to "$BASELINE" \
    --reason "a reason" "$@"
}

refused() {
  expect_status "$1"
  expect_err "$2"
  [ ! -e "$BASELINE" ] || fail "a baseline was written"
}

log_of() { json <(tail -n 1 "$REPO/results/h200/baseline/baseline.log.jsonl") "$1"; }

@test "a first baseline is its own anchor, and the log says why it is there" {
  must 0 promote good
  cmp "$TMP/good.json" "$BASELINE"
  cmp "$TMP/good.json" "${BASELINE%.json}.anchor.json"
  [ "$(log_of '[d["reason"], d["baseline"], d["processes"], d["against"], d["accepted"], d["pinned_anchor"]]')" = \
    '["a reason", "v3.json", 5, [], [], true]' ] || fail "$(log_of d)"
  [ "$(log_of 'd["commit"]')" = "\"$(git -C "$REPO" rev-parse --short HEAD)\"" ]
}

@test "a report that was changed, or made from one that was, is no baseline" {
  make_report edited 'd["run"]["edited"] = True'
  promote edited
  refused 6 'it was changed after attnbench wrote it'
  "$ATTNBENCH" report tests/data/report_gpu.jsonl --json "$TMP/signed.json" || true
  sed -i 's/"median_us":\t/&1/' "$TMP/signed.json"
  promote signed
  refused 7 'does not match'
}

@test "a second one is compared with the last and with the anchor, which stays where it was pinned" {
  promote good
  make_report later 'd["run"]["wall_s"] = 7.5'
  answer 0
  must 0 promote later
  cmp "$TMP/later.json" "$BASELINE"
  cmp "$TMP/good.json" "${BASELINE%.json}.anchor.json"
  [ "$(cat "$TMP/asked")" = "compare $BASELINE
compare ${BASELINE%.json}.anchor.json" ] || fail "$(cat "$TMP/asked")"
  [ "$(log_of '[e["exit_code"] for e in d["against"]] + [d["pinned_anchor"]]')" = '[0, 0, false]' ]
  must 0 promote later --anchor
  cmp "$TMP/later.json" "${BASELINE%.json}.anchor.json"
}

@test "a slower report is refused, and promoted only when the creep is accepted" {
  promote good
  make_report later 'd["run"]["wall_s"] = 7.5'
  answer 1 regressed
  must 1 promote later
  expect_err 'slower than the last baseline'
  expect_err '+4.50 % slower in every process'
  expect_err '--accept-creep'
  cmp "$TMP/good.json" "$BASELINE"
  [ "$(wc -l <"$REPO/results/h200/baseline/baseline.log.jsonl")" -eq 1 ] || fail "a refusal was logged"
  must 0 promote later --accept-creep
  cmp "$TMP/later.json" "$BASELINE"
  [ "$(log_of 'd["accepted"]')" = '["accept_creep"]' ]
}

@test "three small steps pass against the last baseline and not against the anchor" {
  promote good
  answer 0
  # The stand-in finds the anchor, and only that, to be faster.
  sed -i '2a case "$2" in *anchor*) sed -i "s/\\"exit_code\\": 0/\\"exit_code\\": 1/" "'"$TMP/answer.json"'"; slower=1 ;; esac' \
    "$ATTNBENCH_STUB"
  sed -i 's/^exit 0$/exit ${slower:-0}/' "$ATTNBENCH_STUB"
  must 1 promote good
  expect_err 'slower than the anchor'
}

@test "what the comparison cannot judge is not promoted" {
  promote good
  for code in 3:wrong 4:missing 5:inconclusive; do
    answer "${code%:*}" "${code#*:}"
    promote good
    expect_status "${code%:*}"
    expect_err "${code#*:}"
  done
  answer 4 missing
  must 0 promote good --accept-missing
}

@test "another machine is named, and starts anew only when that is said" {
  promote good
  make_report other 'd["device"]["name"] = "NVIDIA L4"'
  answer 6
  must 6 promote other
  expect_err 'device.sms: 132 there, 114 here'
  cmp "$TMP/good.json" "$BASELINE"
  must 0 promote other --new-machine
  cmp "$TMP/other.json" "${BASELINE%.json}.anchor.json"
  [ "$(log_of 'd["accepted"] + [d["pinned_anchor"]]')" = '["new_machine", true]' ]
}

@test "a comparison that did not happen is no comparison" {
  promote good
  printf '#!/bin/sh\necho "no such verb" >&2\nexit 2\n' >"$ATTNBENCH_STUB"
  chmod +x "$ATTNBENCH_STUB"
  must 2 promote good
  expect_err 'no such verb'
  rm "$ATTNBENCH_STUB"
  must 9 promote good
  expect_err 'build it'
}

@test "a report that is not fit is refused with the reason" {
  local change text
  while IFS='|' read -r text change; do
    make_report unfit "$change"
    promote unfit
    refused 6 "$text"
  done <<'UNFIT'
the run is interrupted|d["run"]["state"] = "interrupted"
the run was profiled (nsys)|d["run"]["profiled"] = "nsys"
1 processes, a baseline needs 5|d["results"][0].pop("processes")
4 processes, a baseline needs 5|p = d["results"][0]["processes"]["hot"]; p["count"] = 4; [p[k].pop() for k in ("median_us", "sm_clock_mhz", "throttle_reasons")]
its processes differ by|d["results"][1]["processes"]["cold"]["median_us"][2] *= 1.05
warm-up did not settle|d["results"][0]["time"]["hot"]["settled"] = False
held down by hw_thermal_slowdown|d["results"][0]["processes"]["hot"]["throttle_reasons"][3] = ["hw_thermal_slowdown"]
is oom_predicted: too big|r = d["results"][0]; r.update(status="oom_predicted", reason="too big", time=None, tflop_per_s=None, gb_per_s=None, roof=None, roof_reason="not measured", speedup_vs=None, speedup_vs_reason="not measured"); r.pop("processes"); d["summary"].update(ok=d["summary"]["ok"] - 1, oom_predicted=1, exit_code=4)
uncommitted changes|d["tool"]["git_commit"] += "+dirty"
is not part of what is checked out|d["tool"]["git_commit"] = "0123abc"
UNFIT
}

@test "unsettled rows and a wider spread can be accepted, and the log says so" {
  make_report unsettled 'd["results"][0]["time"]["hot"]["settled"] = False; d["results"][1]["processes"]["cold"]["median_us"][2] *= 1.05'
  promote unsettled --accept-unsettled
  refused 6 'its processes differ by'
  must 0 promote unsettled --accept-unsettled --max-spread 3
  [ "$(log_of 'd["accepted"]')" = '["accept_unsettled"]' ]
}

@test "a changed tree is refused, an earlier baseline in it is not" {
  echo two >"$REPO/cli/main.c"
  promote good
  refused 6 'the tree has uncommitted changes: cli/main.c'
  commit change
  promote good
  refused 6 'changed since commit'
  make_report good
  must 0 promote good
  git -C "$REPO" add -A
  BASELINE=${BASELINE%v3.json}n6.json must 0 promote good
}

@test "the command line is checked, and a broken report is refused as one" {
  must 2 capture python "$REPO/scripts/update_baseline.py" "$TMP/good.json" --to "$BASELINE"
  expect_err '--reason'
  promote good --max-spread -1
  refused 2 '--max-spread'
  ATTNBENCH=$ATTNBENCH_STUB must 2 capture python "$REPO/scripts/update_baseline.py" "$TMP/good.json" --to "$TMP/x.anchor.json" --reason x
  echo '{"schema": "attnbench.report/1"}' >"$TMP/broken.json"
  promote broken
  refused 7 'is not a valid report'
  sed 's/"wall_s": [0-9.]*/"wall_s": 1e999/' "$TMP/good.json" >"$TMP/huge.json"
  promote huge
  refused 7 '1e999 is too large'
  printf '%05000d' 0 | tr 0 '[' >"$TMP/deep.json"
  promote deep
  refused 7 'recursion'
  refute_err Traceback
  cp tests/data/compare_many.json "$TMP/comparison.json"
  promote comparison
  refused 7 'a baseline is a report'
}

@test "a reason of any bytes is logged with what it is the reason of" {
  ATTNBENCH=$ATTNBENCH_STUB must 0 capture python "$REPO/scripts/update_baseline.py" "$TMP/good.json" --to "$BASELINE" --reason $'na\xefve \xc3\xa9'
  [ "$(log_of '[d["baseline"], d["reason"].endswith("\u00e9"), "\udcef" in d["reason"]]')" = '["v3.json", true, true]' ] || fail "$(cat "$REPO"/results/h200/baseline/*.jsonl)"
}

@test "a baseline that cannot be written leaves the old one" {
  promote good
  answer 0
  make_report later 'd["run"]["wall_s"] = 7.5'
  rm "$REPO/results/h200/baseline/baseline.log.jsonl"
  mkdir "$REPO/results/h200/baseline/baseline.log.jsonl"
  must 8 promote later
  expect_err 'baseline.log.jsonl'
  cmp "$TMP/good.json" "$BASELINE"
}

@test "attnbench itself finds creep against the anchor" {
  "$ATTNBENCH" --help all | grep -q 'attnbench compare' || skip "this attnbench compares nothing"
  ATTNBENCH_STUB=$ATTNBENCH
  must 0 promote good
  slower='
for r in d["results"]:
    for mode in r.get("processes", {}):
        r["processes"][mode]["median_us"] = [us * FACTOR for us in r["processes"][mode]["median_us"]]
        for key in r["time"][mode]:
            if key.endswith("_us") or key == "elapsed_s":
                r["time"][mode][key] *= FACTOR'
  make_report step "${slower//FACTOR/1.006}"
  must 0 promote step
  make_report steps "${slower//FACTOR/1.012}"
  must 1 promote steps
  expect_err 'slower than the anchor'
}
