#!/usr/bin/env bash
# Prints a source of our kernels with the guard of tests/slowed/guard.cuh in every kernel, or kernels/tiles/attn_params.cuh
# with the number that the guard reads: slow.sh SOURCE
set -euo pipefail

source=$1
case $source in
*/attn_params.cuh)
  wanted=3
  edit=(-e 's|^struct Params {|inline uint32_t slow_cycles_of_bind;\n&|'
    -e 's|^  float scale_log2;.*|&\n  uint32_t slow_cycles;|'
    -e 's|^  p.scale_log2 = .*|&\n  p.slow_cycles = slow_cycles_of_bind;|')
  ;;
*)
  wanted=$(grep -c '^__global__' "$source" || true)
  edit=(-e 's|^.*const __grid_constant__ [[:alpha:]<>]* \([ap]\)) {$|&\n  const slowed::Guard slowed_guard(\1);|')
  ;;
esac
text=$(sed "${edit[@]}" "$source")
added=$(grep -c 'slow_cycles\|slowed_guard' <<<"$text" || true)
if [ "$added" != "$wanted" ]; then
  echo "slow.sh: $source: $added of $wanted places found; this script expects kernels to be written in another way" >&2
  exit 1
fi
printf '#line 1 "%s"\n%s\n' "$source" "$text"
