# tags: slow unsanitized
# Slowdowns inside the launch: the sources that get one, scripts/proof/slowed_trials.py with a stand-in for attnbench, and the table.
load ../helper

# A program whose cells take 10 us, 1 % more for every 100 cycles that the object's file says, and whose ab calls what takes 2 %
# longer regressed. BROKEN: a cell is wrong; BLIND: nothing is ever slower.
setup() {
  cat >"$TMP/attnbench" <<'PY'
#!/usr/bin/env python3
import json, os, pathlib, sys
args = sys.argv[1:]
value = lambda name: args[args.index(name) + 1]
file = pathlib.Path(value("--load") + ".cycles")
cycles = {tuple(line.split()[:2]): int(line.split()[2]) for line in file.read_text().splitlines()}
cells = [args[i + 1].split("/") for i, word in enumerate(args) if word == "--only"]
slower = lambda key, variant: 1 + cycles.get((key, variant.removeprefix("slowed_")), 0) / 1e4
if args[0] == "ab":
    assert not pathlib.Path(value("--base-load") + ".cycles").exists()
    rows = [{"key": key, "variant": variant, "mode": mode, "threshold_ratio": 0.02, "time_ratio": slower(key, variant), "reason": None,
             "verdict": "regressed" if slower(key, variant) >= 1.02 and "BLIND" not in os.environ else "same"}
            for key, variant in cells for mode in ("hot", "cold")]
    pathlib.Path(value("--compare-json")).write_text(json.dumps({"suite": None, "summary": {}, "settings": {"threshold_ratio": 0.02}, "rows": rows}))
    pathlib.Path(value("--base-json")).write_text("{}")
    sys.exit(int(any(row["verdict"] == "regressed" for row in rows)))
def row(key, variant):
    times = {mode: {"median_us": 10 * slower(key, variant)} for mode in ("hot", "cold")}
    ratio = {"ratio": 1 / slower(key, variant), "ci95_low": 0.99 / slower(key, variant), "ci95_high": 1.01 / slower(key, variant), "event_overhead_us": 0}
    ok = "BROKEN" not in os.environ or key != "K1"
    return {"key": key, "variant": variant, "status": "ok" if ok else "wrong", "reason": "bad", "time": times, "speedup_vs": {"hot": ratio, "cold": ratio}}
report = {"results": [row(*cell) for cell in cells], "device": {"name": "a device", "driver": "1"}, "tool": {"git_commit": "abc"}}
pathlib.Path(value("--json")).write_text(json.dumps(report))
PY
  chmod +x "$TMP/attnbench"
  touch "$TMP/slowed.so"
  printf '# cells\n%s\n' "$(for i in 1 2 3 4 5 6; do echo "K$i one"; done)" >"$TMP/cells"
}

trials() {
  capture python scripts/proof/slowed_trials.py --attnbench "$TMP/attnbench" --object "$TMP/slowed.so" --cells "$TMP/cells" \
    --log "$TMP/log" --seconds 1000 --trials 2 --size 5 --share 0.8 "$@"
}

gate_table() {
  cat >"$TMP/table.py" <<'PY'
import json, sys
sys.path.insert(0, "scripts/proof")
import gate_trials
out = {"rows": [1, 2, "end"], "tables": [], "notes": []}
try:
    gate_trials.add_in_launch(out, sys.argv[1] + "/log")
except gate_trials.Failure as failure:
    sys.exit(f"{failure.code}: {failure}")
json.dump(out, open(sys.argv[1] + "/table.json", "w"))
PY
  capture python "$TMP/table.py" "$TMP"
}

@test "every kernel of the slowed variants gets its guard, and a kernel that is written otherwise is told" {
  local name
  for name in kernels/tiles/attn_params.cuh kernels/tiles/wgmma_tile.cuh \
    $(sed -n 's|^VARIANT(\(.*\))|kernels/variants/\1.cu|p' tests/slowed/slowed.def); do
    must 0 capture tests/slowed/slow.sh "$name"
  done
  printf '__global__ void odd_kernel(int *p)\n{\n}\n' >"$TMP/odd.cu"
  must 1 capture tests/slowed/slow.sh "$TMP/odd.cu"
  expect_err "odd.cu: 0 of 1 places found"
}

@test "trials slow most cells, measure what that costs, log each, and go on where a log ends" {
  must 0 trials --trials 1
  must 0 trials --trials 1
  python - "$TMP/log" <<'PY'
import json, sys
trials = [json.loads(line) for line in open(sys.argv[1])]
assert [t["number"] for t in trials] == [0, 1]
assert all(len(t["slowed"]) == 4 and len(t["rows"]) == 10 and t["commit"] == "abc" for t in trials)
assert trials[0]["slowed"] != trials[1]["slowed"]
one = trials[0]["slowed"][0]
assert abs(one["hot"]["ratio"] - (1 + one["cycles"] / 1e4)) < 1e-9 and one["hot"]["low"] < one["hot"]["ratio"] < one["hot"]["high"]
PY
}

@test "each cell of a whole gate is slowed in turn by as much as is said; one that is missed ends with 1" {
  each() { trials --trials 100 --each 3; }
  sed -i 's/K2 one/K2 one:with=1/' "$TMP/cells"
  sed -i 's/"slowed_")/"slowed_").split(":")[0]/' "$TMP/attnbench"
  each
  expect_status 0
  python - "$TMP/log" <<'PY'
import json, sys
trials = [json.loads(line) for line in open(sys.argv[1])]
assert [t["slowed"][0]["key"] for t in trials] == [f"K{i}" for i in range(1, 7)]
assert all(len(t["slowed"]) == 1 and len(t["rows"]) == 12 for t in trials)
assert all(abs(t["slowed"][0]["hot"]["ratio"] - 1.03) < 0.003 for t in trials)
PY
  each # all were tried
  expect_status 0
  [ "$(wc -l <"$TMP/log")" -eq 6 ] || fail "it went on"
  rm "$TMP/log"
  BLIND=1 each
  expect_status 1
  expect_out '6 of 6 slowdowns were missed'
}

@test "every cell of the gate's sweep can be slowed" {
  attn plan --sweep shapes/gate.json --gpu h200 --json "$TMP/p.json"
  python - "$TMP/p.json" <<'PY'
import json, re, sys
rows = json.load(open(sys.argv[1]))["results"]
cells = {line.strip() for line in open("tests/slowed/gate_cells.txt") if not line.startswith("#")}
assert cells == {f"{row['key']} {row.get('picked') or row['variant']}" for row in rows}
kernels = set(re.findall(r"VARIANT\((.*)\)", open("tests/slowed/slowed.def").read()))
assert {cell.split()[1].split(":")[0] for cell in cells} <= kernels
PY
}

@test "the table says how many were found, with exact intervals, and what untouched rows were called" {
  trials
  must 0 gate_table
  expect_json "$TMP/table.json" 'd["rows"][:2] == [1, 2] and d["rows"][-1] == "end" and len(d["rows"]) > 5'
  expect_json "$TMP/table.json" 'all(r[1].split(" of ")[0] == r[1].split(" of ")[1] for r in d["rows"][2:-1] if "threshold or more" in r[0])'
  expect_json "$TMP/table.json" '[r[1] for r in d["rows"][2:-1] if "untouched" in r[0]][0].startswith("0 of ")'
  rm "$TMP/log"
  BLIND=1 trials
  gate_table
  expect_json "$TMP/table.json" '[r[1] for r in d["rows"][2:-1] if "threshold or more" in r[0]][0].startswith("0 of ")'
  python - <<'PY'
import sys
sys.path.insert(0, "scripts/proof")
import gate_trials
assert gate_trials.exact_interval(0, 10) == "0.0 to 30.8 %" and gate_trials.exact_interval(10, 10) == "69.2 to 100.0 %"
assert gate_trials.exact_interval(3, 10) == "6.7 to 65.2 %"
PY
}

@test "a cell that is wrong is left out; a log or cells that are none are refused" {
  BROKEN=1 must 0 trials
  expect_out "left out: K1 slowed_one: wrong"
  ! grep -q '"K1"' "$TMP/log" || fail "K1 was measured"
  echo nonsense >"$TMP/log"
  must 7 trials
  expect_err "not a log of earlier trials"
  must 1 gate_table
  expect_err "7: $TMP/log: not a log of scripts/proof/slowed_trials.py"
  rm "$TMP/log"
  echo "one two three" >"$TMP/cells"
  must 7 trials
  must 2 trials --share 2
}
