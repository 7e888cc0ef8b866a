# Several processes, the device's policy and ab, on a GPU.
load helper

setup() {
  need_gpu
  SWEEP=$(write_file s.json '{"attnbench_sweep": 1, "name": "gate", "variants": ["mma_swizzle", "wmma"],
    "shapes": [{"B": 4, "H": 16, "S": 512, "D": 64}, {"B": 1, "H": 16, "S": 1024, "D": 128}]}')
}

@test "every process of a run has its medians and SM clocks, and they agree" {
  must 0 attn --sweep "$SWEEP" --device cuda --rounds 4 --quick --reference none --json "$TMP/r.json"
  python scripts/proof/validate_report.py "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["processes"][m]["count"] == 4 for r in d["results"] for m in ("cold", "hot"))'
  expect_json "$TMP/r.json" 'all(mhz and mhz > 300 for r in d["results"] for m in ("cold", "hot")
    for mhz in r["processes"][m]["sm_clock_mhz"])'
  expect_json "$TMP/r.json" 'all(max(us) / min(us) < 1.05 for r in d["results"]
    for us in [r["processes"]["hot"]["median_us"]])'
  expect_json "$TMP/r.json" 'all(t["elapsed_s"] < 0.2 and t["n"] >= (20 if t["elapsed_s"] < 0.001 * t["n"] else 6) for r in d["results"]
    for t in r["time"].values())'
}

@test "the report has what NVML tells of the device's policy" {
  command -v nvidia-smi >/dev/null || skip "no nvidia-smi to compare with"
  must 0 attn --sweep "$SWEEP" --device cuda --variants wmma --check-only --json "$TMP/r.json"
  local uuid limit
  uuid=$(json "$TMP/r.json" 'd["device"]["uuid"]' | tr -d '"')
  limit=$(nvidia-smi -i "$uuid" --query-gpu=enforced.power.limit --format=csv,noheader,nounits)
  expect_json "$TMP/r.json" "abs((d['device']['policy']['power_limit_w'] or 0) - $limit) < 1"
  expect_json "$TMP/r.json" 'd["device"]["policy"]["max_sm_clock_mhz"] > 300 and d["device"]["policy"]["host_kernel"]'
}

@test "a program against itself passes, in little time" {
  local start=$SECONDS
  must 0 attn ab --base "$ATTNBENCH" --sweep "$SWEEP" --device cuda --base-json "$TMP/base.json" --json "$TMP/new.json"
  [ $((SECONDS - start)) -lt 90 ] || fail "took $((SECONDS - start)) s"
  # A cell that is clear after 3 pairs is measured in no more.
  expect_json "$TMP/new.json" 'all(r["processes"]["hot"]["count"] in (3, 5, 7) for r in d["results"]) and len(d["results"]) == 4'
  expect_json "$TMP/base.json" 'd["run"]["quick"] and d["device"]["policy"]'
}

@test "a side of the gate reaches the GPU from its namespaces" {
  export APART_ROOT=$TMP APART_HOW
  APART_HOW=$(bash scripts/gate_apart.sh --probe)
  must 0 capture bash scripts/gate_apart.sh "$ATTNBENCH" run --sweep "$SWEEP" --device cuda --quick --journal "$TMP/journal"
  attn report "$TMP/journal" --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"] if r["variant"] == "wmma"} == {"ok"}'
}

# Where the machine allows no namespaces: a user of its own for each side, if there is a way to this folder.
users_instead() {
  local folder=$TMP
  mkdir "$TMP/bin"
  printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/unshare"
  chmod +x "$TMP/bin/unshare"
  while [ "$folder" != / ]; do
    chmod o+x "$folder" || return
    folder=$(dirname "$folder")
  done
  chmod o+r "$TMP/bin" "$TMP/bin/unshare" "$SWEEP"
  PATH=$TMP/bin:$PATH
}

@test "a side of the gate reaches the GPU as a user of its own" {
  [ "$(id -u)" -eq 0 ] || skip "only root can give a side a user of its own"
  users_instead
  export APART_ROOT=$TMP APART_HOW
  APART_HOW=$(bash scripts/gate_apart.sh --probe)
  [ "$APART_HOW" = user ] || skip "another user cannot reach this folder or the GPU"
  must 0 capture bash scripts/gate_apart.sh "$ATTNBENCH" run --sweep "$SWEEP" --device cuda --quick --journal "$TMP/journal"
  attn report "$TMP/journal" --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"] if r["variant"] == "wmma"} == {"ok"}'
}

# judged HOW CANDIDATE...: as gate_ci.sh compares, with the sides kept apart in this way.
judged() {
  APART_ROOT=$TMP APART_HOW=$1 attn ab --start-with scripts/gate_apart.sh --base "$ATTNBENCH" --candidate "$2" \
    --shape B=4,H=16,S=512,D=64 --variants wmma --device cuda --modes hot "${@:3}"
}

# evil NAME LINES...: a program that runs these lines of a shell and then is attnbench.
evil() {
  printf '#!/bin/bash\n%s\nexec "%s" "$@"\n' "$2" "$ATTNBENCH" >"$TMP/$1"
  chmod 755 "$TMP/$1"
  echo "$TMP/$1"
}

burns() { pgrep -f 'S=16384.*--modes steady' >/dev/null || pgrep -f nvidia-cuda-mps >/dev/null; }

@test "a candidate that leaves work on the GPU or a server of MPS leaves nothing, or is not judged" {
  local how ways=none candidate burner="\"$ATTNBENCH\" --shape B=1,H=16,S=16384,D=128 --variants wmma --modes steady"
  ways+=" $(bash scripts/gate_apart.sh --probe)"
  candidate=$(evil leaves "(setsid $burner >/dev/null 2>&1 &); (setsid nvidia-cuda-mps-control -f >/dev/null 2>&1 &)")
  for how in $ways; do
    judged "$how" "$candidate"
    ! burns || fail "it burns on"
    case $how:$status in
      none:9) expect_err 'left a process running' ;;
      namespaces:[056] | user:[056]) ;;
      *) expect_status 9 ;;
    esac
  done
}

@test "a candidate that warms the card up for the other side is not judged" {
  local burner="timeout 2 \"$ATTNBENCH\" --shape B=1,H=16,S=16384,D=128 --variants wmma --modes steady --quiet"
  # Only where it measures: other calls ask for its version.
  judged none "$(evil warms "[[ \" \$* \" != *' --journal '* ]] || { \"$ATTNBENCH\" \"\$@\"; code=\$?; $burner >/dev/null 2>&1; exit \$code; }")"
  expect_status 6
  expect_out 'time of the processes'
}

@test "gate --selftest finds every slowdown that it puts in" {
  must 0 attn gate --selftest --sweep "$SWEEP" --device cuda --modes hot --rounds 5 --processes 10 --controls 2 \
    --json "$TMP/selftest.json"
  # Finding the delay takes launches, after which a card may run at another clock than the base's: then the verdict is `cycles`.
  expect_json "$TMP/selftest.json" '[c["verdict"] in ("regressed", "cycles") for c in d["controls"] if c["injected_ratio"]] == [True] * 2'
  expect_json "$TMP/selftest.json" 'all(abs(c["injected_ratio"] - 1.03) < 0.005 for c in d["controls"] if c["injected_ratio"])'
}

@test "the gate's own sweep is right in every cell that the GPU takes, and the program passes against itself" {
  must 0 attn ab --base "$ATTNBENCH" --sweep shapes/gate.json --device cuda --compare-json "$TMP/c.json" --json "$TMP/new.json" --base-json "$TMP/base.json"
  expect_json "$TMP/c.json" 'd["summary"]["compared"] >= 8 and d["pairs"]["measured"] in (3, 5, 7)'
  expect_json "$TMP/new.json" 'all(r["status"] in ("ok", "skipped") for r in d["results"])'
  # What is clear keeps fewer processes than what is not, and the reports can be compared again.
  expect_json "$TMP/c.json" "d['pairs']['rows_clear_before'] == 0 or json.load(open('$TMP/new.json'))['run'].get('in_steps') is True"
  attn compare "$TMP/base.json" "$TMP/new.json"
  case $status in 0 | 5) ;; *) fail "a comparison of the two sides" ;; esac
}
