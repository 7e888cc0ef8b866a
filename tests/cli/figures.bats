#!/usr/bin/env bats
# Figures of results/reliability, which scripts measured, against what is asked of them.
load helper

@test "every fuzz target was executed, thirty million times in all" {
  local target executions sum=0 file=results/reliability/fuzz.tsv
  for target in tests/fuzz/fuzz_*.c; do
    target=${target##*/fuzz_} && target=${target%.c}
    executions=$(awk -F '\t' -v target="$target" '$1 == target { print $2 }' "$file")
    [ "${executions:-0}" -ge 1000000 ] || fail "$target: ${executions:-no} executions"
    sum=$((sum + executions))
  done
  [ "$sum" -ge 30000000 ] || fail "$sum executions in all"
}
