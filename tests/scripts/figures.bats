#!/usr/bin/env bats
# Figures of results/reliability, which scripts measured, against what is asked of them.
load ../helper

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

# The goal.
@test "ten thousand rows cost what was measured" {
  local row value
  for row in 'journal bytes_per_cell 2000' 'report cpu_s 2' 'report memory_mb 300' 'diagnose cpu_s 2' 'diagnose memory_mb 300' \
    'compare cpu_s 2' 'compare memory_mb 300' 'gate_selftest cpu_s 6' 'gate_selftest memory_mb 300'; do
    read -r what figure most <<<"$row"
    value=$(awk -F '\t' -v what="$what" -v figure="$figure" '$1 == what && $2 == figure { print $3 }' results/reliability/large.tsv)
    awk -v value="${value:-999999}" -v most="$most" 'BEGIN { exit !(value > 0 && value <= most) }' || fail "$what $figure: ${value:-none}"
  done
}

@test "the tests run 97 % of the lines of cli/, and every folder was counted" {
  local folder
  awk -F '\t' '$1 == "all" { found = $2 > 0 && $3 >= 97 && $4 > 0 && $5 > 0 } END { exit !found }' results/reliability/coverage.tsv ||
    fail "$(cat results/reliability/coverage.tsv)"
  for folder in cli/*/; do
    grep -qP "^$(basename "$folder")\t[1-9]" results/reliability/coverage.tsv || fail "$folder was not counted"
  done
}
