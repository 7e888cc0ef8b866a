# tags: slow
load ../helper

# The planted defects of tests/faults/defects.cu, judged from their plans alone. Each line: variant, then every finding
# that its plan must have and, by not naming it, those that it must not have.
plan_table() {
  cat <<'TABLE'
none
serial         grid_misses_bh
half_empty     below_one_wave
tail_wave      tail_wave
smem           smem_limits_occupancy
idle_threads   idle_threads
rereads        rereads_kv
bank_conflicts
uncoalesced
TABLE
}

# expect_findings VARIANT FINDING...: of the one result of $TMP/plan.json for this variant, as a set.
expect_findings() {
  local variant=$1
  shift
  expect_json "$TMP/plan.json" "[sorted(f['id'] for f in r['findings']) for r in d['results']
    if r['variant'] == 'gpu_defect_$variant'] == [sorted('$*'.split())]" ||
    fail "$variant has $(json "$TMP/plan.json" "[[f['id'], f['measured']] for r in d['results']
      if r['variant'] == 'gpu_defect_$variant' for f in r['findings']]"), wanted: $*"
}

plan_defects() {
  must 0 attn_faulty plan --sweep tests/data/sweeps/defects.json --gpu "$1" --filter Sq=32768 --variants "$2" \
    --json "$TMP/plan.json"
  expect_json "$TMP/plan.json" '{r["status"] for r in d["results"]} == {"planned"}'
}

@test "every defect of a launch is named on every known GPU, and none on a kernel without it" {
  variants=$(plan_table | awk '{printf "%sgpu_defect_%s", sep, $1; sep = ","}')
  for gpu in l4 a100 h100 h200 rtx4090; do
    plan_defects "$gpu" "$variants"
    # Waves are known where registers are: without them the blocks that fit are an upper bound.
    known=$(json "$TMP/plan.json" '[r["launches"][0]["resident_exact"] for r in d["results"] if r["variant"] == "gpu_defect_tail_wave"]')
    while read -r variant findings; do
      if [ "$variant" = tail_wave ] && [ "$known" = '[false]' ]; then findings=''; fi
      # shellcheck disable=SC2086
      expect_findings "$variant" $findings || fail "on $gpu"
    done < <(plan_table)
  done
}

@test "registers and spills are named from what the compiler says" {
  plan_defects h200 gpu_defect_registers,gpu_defect_spills,gpu_defect_none
  expect_json "$TMP/plan.json" 'all(r["launches"][0]["registers"] for r in d["results"])' 2>/dev/null ||
    skip "built without code for compute capability 9.0"
  expect_findings none
  expect_findings registers registers_limit_occupancy
  expect_findings spills spills
}

@test "blocks of unlike work are named where an SM keeps the long ones, and not on a kernel that shares them out" {
  must 0 attn_faulty plan --sweep tests/data/sweeps/defects.json --gpu h200 --filter Sq=1024 --json "$TMP/plan.json" \
    --variants gpu_defect_imbalanced,gpu_defect_none
  expect_findings none
  # Without registers one block may be alone on its SM, and then the next one goes to whoever is done first.
  if [ "$(json "$TMP/plan.json" 'd["results"][0]["launches"][0]["resident_exact"]')" = false ]; then
    expect_findings imbalanced
    skip "built without code for compute capability 9.0"
  fi
  expect_findings imbalanced imbalanced
  expect_json "$TMP/plan.json" '"528 blocks on 132 SMs, one item each in the order of the grid, take 1.60x"
    in d["results"][0]["findings"][0]["measured"]'
  # The same grid without a mask has nothing to share out.
  must 0 attn_faulty plan --shape B=1,H=132,S=1024,D=64 --gpu h200 --json "$TMP/plan.json" --variants gpu_defect_imbalanced
  expect_findings imbalanced
}
