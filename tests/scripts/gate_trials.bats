# tags: slow unsanitized
# scripts/proof/gate_trials.py with a stand-in for attnbench: what it counts, what it ends with.
load ../helper

# A program that measures two cases, and whose ab finds what --inject-slowdown put in. FALSE_ALARM: an unchanged trial fails;
# BLIND: a slowed one passes; RESTLESS: the first control cannot be put in.
setup() {
  cat >"$TMP/attnbench" <<'PY'
#!/usr/bin/env python3
import json, os, pathlib, sys, time
args = sys.argv[1:]
value = lambda name: args[args.index(name) + 1] if name in args else None
if args[0] != "ab":
    rows = [{"key": "K1", "variant": v, "status": "ok", "time": {"hot": {"median_us": us}}} for v, us in (("long", 90), ("short", 9))]
    report = {"results": rows, "device": {"name": "a device", "driver": "1"}, "sweep": {"name": "s"}}
    pathlib.Path(value("--json")).write_text(json.dumps(report))
    sys.exit(0)
slowed, rows, code = value("--inject-slowdown"), [], 0
if "HANGS" in os.environ:
    pathlib.Path(os.environ["HANGS"]).write_text(str(os.getpid()))
    time.sleep(60)
mark = pathlib.Path(os.environ["MARK"])
if slowed and os.environ.get("RESTLESS") and not mark.exists():
    mark.touch()
    rows, code = [{"key": "K1", "variant": "long", "verdict": "missing", "reason": "error (--inject-slowdown: too restless)"}], 4
elif slowed and not os.environ.get("BLIND") or not slowed and os.environ.get("FALSE_ALARM"):
    rows, code = [{"key": "K1", "variant": "long", "verdict": "regressed", "reason": "slower"}], 1
pathlib.Path(value("--compare-json")).write_text(json.dumps({"summary": {}, "rows": rows}))
sys.exit(code)
PY
  chmod +x "$TMP/attnbench"
  export MARK=$TMP/mark
}

trials() {
  capture python scripts/proof/gate_trials.py --attnbench "$TMP/attnbench" --sweep s.json --json "$TMP/gate.json" --processes 0 "$@"
}

@test "gates without a change pass, slowed ones are found, and only cases that are long enough are slowed" {
  must 0 trials --same 3 --slowed 2 --gpus 0,1
  expect_json "$TMP/gate.json" '[r[1] for r in d["rows"][:2]] == ["0 of 3", "2 of 2"]'
  expect_json "$TMP/gate.json" '[t["slowed"] for t in d["trials"] if t["slowed"]] == ["K1/long"] * 2'
  [ ! -e "$TMP/gate.json.trials" ] || fail "the log of a whole run stays"
}

@test "a false alarm and a slowdown that is not found fail" {
  FALSE_ALARM=1 must 1 trials --same 2 --slowed 0
  expect_json "$TMP/gate.json" 'd["rows"][0][1] == "2 of 2"'
  BLIND=1 must 1 trials --same 0 --slowed 2
  expect_json "$TMP/gate.json" 'len(d["rows"]) == 1 and d["rows"][0][1] == "0 of 2"'
}

@test "a control that could not be put in does not count, and another takes its place" {
  RESTLESS=1 must 0 trials --same 0 --slowed 2
  expect_json "$TMP/gate.json" 'd["rows"][0][1] == "2 of 2" and len(d["trials"]) == 3 and "Not counted" in d["notes"][0]'
}

@test "a run that was cut short is taken up" {
  trials --same 2 --slowed 0
  python - "$TMP/gate.json" "$TMP/earlier" <<'PY'
import json, sys
with open(sys.argv[2], "w") as file:
    file.writelines(json.dumps(trial) + "\n" for trial in json.load(open(sys.argv[1]))["trials"])
PY
  must 0 trials --same 3 --slowed 1 --resume "$TMP/earlier"
  expect_json "$TMP/gate.json" '[r[1] for r in d["rows"][:2]] == ["0 of 3", "1 of 1"] and len(d["trials"]) == 4'
}

@test "no case that is long enough, and a sweep that fails, are said" {
  must 4 trials --slowed 1 --least-us 1000
  expect_err "no case takes 1000 us or more"
  printf '#!/bin/sh\necho "attnbench: no such file" >&2\nexit 7\n' >"$TMP/attnbench"
  must 7 trials
  expect_err "no such file"
}

@test "what cannot be read, written or understood is refused before anything is measured" {
  printf '#!/bin/sh\ntouch "$MARK"\n' >"$TMP/attnbench"
  echo '{"a":' >"$TMP/broken"
  must 7 trials --evidence "$TMP/broken"
  expect_err "$TMP/broken: not valid JSON"
  must 7 trials --evidence "$TMP/none"
  echo '{"results": [{"key": "K1", "variant": "v", "status": "ok", "time": {"hot": {"median_us": 90}}}]}' >"$TMP/report"
  must 7 trials --evidence "$TMP/report" --resume "$TMP/broken"
  expect_err "$TMP/broken: not the FILE.trials of an earlier run"
  must 8 trials --json "$TMP/none/gate.json"
  for wrong in '--same -1' '--gpus 0,,1' '--json -'; do
    # shellcheck disable=SC2086  # an option and its value
    must 2 trials $wrong
  done
  [ ! -e "$MARK" ] || fail "something was measured"
}

@test "an interrupted run ends its programs and can be resumed" {
  trials --same 1 --slowed 0
  python -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["trials"][0]))' "$TMP/gate.json" >"$TMP/earlier"
  HANGS=$TMP/pid "$ATTN_PYTHON" scripts/proof/gate_trials.py --attnbench "$TMP/attnbench" --sweep s.json --json "$TMP/gate.json" \
    --processes 0 --same 2 --slowed 0 --resume "$TMP/earlier" >"$OUT" 2>"$ERR" &
  until [ -s "$TMP/pid" ]; do sleep 0.1; done
  kill -TERM $!
  status=0
  wait $! || status=$?
  expect_status 143
  refute_err Traceback
  ! kill -0 "$(cat "$TMP/pid")" 2>/dev/null || fail "the program runs on"
  cmp "$TMP/gate.json.trials" "$TMP/earlier" || fail "the trials were not kept"
  must 0 trials --same 2 --slowed 0 --resume "$TMP/gate.json.trials"
  expect_json "$TMP/gate.json" 'd["rows"][0][1] == "0 of 2"'
}

@test "reports of one program from elsewhere are compared, and what cannot be compared is told" {
  local base=tests/data/v3.journal
  cat >"$TMP/apart.py" <<'PY'
import json, sys
sys.path.insert(0, "scripts/proof")
import gate_trials
attnbench, base = sys.argv[1:]
found = gate_trials.compared(attnbench, base, base)
out = {"rows": [], "tables": []}
gate_trials.add_apart(out, [found, found])
rows = sum(row["mode"] == "hot" for row in found["rows"])
assert rows > 0 and out["rows"][0][1] == f"0 of {2 * rows}", out["rows"]
assert out["tables"][0]["rows"][0][0] == "0.0" and f"{rows} " in out["tables"][0]["rows"][0][3]
try:
    gate_trials.compared(attnbench, base, "nothing")
except gate_trials.Failure as failure:
    print(failure)
PY
  must 0 capture python "$TMP/apart.py" "$ATTNBENCH" "$base"
  expect_out "attnbench compare $base nothing ended with 7"
}
