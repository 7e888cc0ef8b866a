# tags: quick
# scripts/proof/build_bias.py with stand-ins for builds of attnbench.
load ../helper

# Builds whose cells take 10 us, up and down by 0.1 % from process to process. Build 3 takes 1 % longer in the cell `slow`.
# BROKEN: build 2 cannot measure.
setup() {
  mkdir "$TMP/builds"
  cat >"$TMP/builds/1" <<'PY'
#!/usr/bin/env python3
import json, os, pathlib, sys
own = pathlib.Path(sys.argv[0])
if own.name == "2" and "BROKEN" in os.environ:
    print("the card is busy", file=sys.stderr)
    sys.exit(4)
count = own.with_suffix(".count")
calls = int(count.read_text()) if count.exists() else 0
count.write_text(str(calls + 1))
def row(variant, mode_us):
    noise = 1 + 0.001 * ((int(own.name) + calls) % 3 - 1)
    bias = 1.01 if own.name == "3" and variant == "slow" else 1
    return {"key": "B1.H1.Hkv1.Sq64.Skv64.D64.f16.full", "variant": variant,
            "time": {mode: {"median_us": us * noise * bias} for mode, us in mode_us.items()}}
rows = [row("slow", {"hot": 10, "cold": 12}), row("same", {"hot": 10}), {"key": "K", "variant": "skipped", "time": None}]
report = {"results": rows, "device": {"name": "a card", "driver": "1"}, "tool": {"git_commit": "abc"}, "sweep": {"name": "two"}}
assert sys.argv[sys.argv.index("--rounds") + 1] == "1" and "--quick" in sys.argv
pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(report))
PY
  chmod +x "$TMP/builds/1"
  cp "$TMP/builds/1" "$TMP/builds/2"
  cp "$TMP/builds/1" "$TMP/builds/3"
}

bias() { capture python scripts/proof/build_bias.py --sweep two --draws 1000 --json "$TMP/bias.json" "$@"; }

@test "build_bias.py finds the build that is slower in the row where it is, and nothing in others" {
  must 0 bias --rounds 3 "$TMP"/builds/[123]
  # Three builds, one of them 1 % above the others: a standard deviation of 0.58 %, less a little noise.
  expect_json "$TMP/bias.json" '[0.5 < row[5] < 0.6 and row[7] < 0.05 for row in d["tables"][0]["rows"] if row[0] == "`slow`"] == [True, True]'
  expect_json "$TMP/bias.json" '[row[5] == 0 and row[7] > 0.2 for row in d["tables"][0]["rows"] if row[0] == "`same`"] == [True]'
  expect_json "$TMP/bias.json" 'sorted(name[1:3] for *name, groups in d["medians_us"]) == [["same", "hot"], ["slow", "cold"], ["slow", "hot"]]'
  expect_json "$TMP/bias.json" 'all([len(group) for group in groups] == [3, 3, 3] for *_, groups in d["medians_us"])'
  expect_json "$TMP/bias.json" '"3 builds of one program" in d["about"] and "9 processes in turns" in d["about"]'
}

@test "build_bias.py stops where a build cannot measure, and asks for three builds and two rounds" {
  BROKEN=1 must 4 bias "$TMP"/builds/[123]
  grep -q "builds/2 ended with 4: the card is busy" "$ERR" || fail "another message"
  must 2 bias "$TMP"/builds/[12]
  must 2 bias --rounds 1 "$TMP"/builds/[123]
  must 9 bias "$TMP"/builds/[123] "$TMP/builds/none"
}
