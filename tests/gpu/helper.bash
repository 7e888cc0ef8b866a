# The command-line helper, for tests that need a GPU:  load helper
load ../helper

# gpu_reason: why attnbench cannot run GPU variants; fails when it can. Reads the text of the listing, so that nothing
# but attnbench decides.
gpu_reason() {
  "$ATTNBENCH" list --json >"$TMP/.list" 2>"$TMP/.why" || {
    printf 'attnbench list ended with status %s: %s\n' "$?" "$(head -n 3 "$TMP/.why")"
    return
  }
  awk -F'"' '
    $2 == "runs_on" { cuda = ($4 == "cuda") }
    $2 == "available" && cuda { seen = 1; usable = /true/ }
    $2 == "reason" && cuda && !usable && why == "" { why = $4 }
    cuda && usable { any = 1 }
    END {
      if (any) exit 1
      print why != "" ? why : seen ? "no GPU variant is available" : "attnbench lists no GPU variant"
    }' "$TMP/.list"
}

# Skips a test, with the reason, where there is no GPU. A GPU that is there and cannot be used is a failure.
need_gpu() {
  local why
  if ! why=$(gpu_reason); then return; fi
  if "$ROOT/scripts/build/run_tests.sh" gpu-missing; then skip "no GPU: $why"; fi
  fail "this machine has a GPU that attnbench cannot use: $why"
}

need_tool() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

# The planted defects of tests/faults/defects.cu. Each line: shape by its number of queries, variant, then every finding
# that it must have, "+ID" only once counters were read, and in parentheses those that it may have then: kernels of one
# row per thread read Q and write O row by row, which is scattered by their nature. Without counters bank conflicts and
# uncoalesced access change neither launch, time against B*H nor requests by tiles, and must be named as nothing else.
# latency_bound is left out of the sets: none of these kernels is fast, so it stands beside the cause, but never on the
# rows whose time is the defect.
defects_table() {
  cat <<'TABLE'
32768 none
32768 serial         grid_misses_bh
32768 half_empty     below_one_wave
32768 tail_wave      tail_wave
32768 smem           smem_limits_occupancy
32768 registers      registers_limit_occupancy (uncoalesced)
32768 spills         spills (uncoalesced)
32768 idle_threads   idle_threads
32768 rereads        rereads_kv
32768 bank_conflicts +bank_conflicts
32768 uncoalesced    +uncoalesced
4     none           launch_bound
1     rereads        memory_bound
2048  compute_bound  compute_bound
1024  imbalanced     imbalanced
TABLE
}

# defects_of SQ: the variants of a shape, as --variants takes them.
defects_of() { defects_table | awk -v sq="$1" '$1 == sq {printf "%sgpu_defect_%s", sep, $2; sep = ","}'; }
