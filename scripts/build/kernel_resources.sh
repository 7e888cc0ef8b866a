#!/usr/bin/env bash
# Turns the reports of `nvcc -Xptxas -v` into a table.
#
#   kernel_resources.sh --list FILE.ptxas...   one line per kernel and architecture, tab-separated:
#                                              symbol sm registers static_smem local spill_stores spill_loads file
#   kernel_resources.sh --c    FILE.ptxas...   the same as C, for kernels/kernel_resources.h; no file: an empty table
#
# A host handle is turned into its symbol with dladdr, so every kernel needs external linkage, and one symbol in two
# objects would let the linker pair a handle with the other object's code: both are errors here.
set -euo pipefail

list() {
  [ $# -gt 0 ] || return 0
  awk '
    function flush_kernel() {
      if (symbol == "") return
      if (registers == "") { printf "%s: no register count for %s\n", file, symbol > "/dev/stderr"; bad = 1 }
      printf "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", symbol, sm, registers, smem, frame + lmem, stores, loads, file
      symbol = ""
    }
    # The number that stands before `unit` in this line, or 0.
    function before(unit,   part) {
      if (!match($0, "[0-9]+ bytes " unit)) return 0
      split(substr($0, RSTART), part, " ")
      return part[1] + 0
    }
    FNR == 1 { flush_kernel(); file = FILENAME }
    /Compiling entry function/ {
      flush_kernel()
      split($0, quoted, "\047")
      symbol = quoted[2]; sm = quoted[4]
      registers = ""; smem = frame = lmem = stores = loads = 0; own = 0
    }
    /Function properties for/ { own = ($NF == symbol) }
    /bytes stack frame/ {
      if (own) frame = before("stack frame")
      stores += before("spill stores")
      loads += before("spill loads")
    }
    /: Used [0-9]+ registers/ {
      match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
      smem = before("smem"); lmem = before("lmem")
      if (before("cumulative stack size") > frame) frame = before("cumulative stack size")
    }
    END { flush_kernel(); exit bad }
  ' "$@" | sort
}

refuse_unmappable() {
  awk -F'\t' '
    !NF { next }
    $1 ~ /_GLOBAL__N_|_INTERNAL_|^_ZL/ && !($1 in told) {
      told[$1]
      printf "%s: kernel %s has internal linkage; take it out of the unnamed namespace and drop static\n", $8, $1
      bad = 1
    }
    ($1, $2) in seen {
      printf "%s: kernel %s is in %s too; give each file its own kernel names\n", $8, $1, seen[$1, $2]
      bad = 1
    }
    { seen[$1, $2] = $8 }
    END { exit bad }
  ' >&2
}

as_c() {
  cat <<'C'
/* Written by scripts/build/kernel_resources.sh. */
#include "kernels/kernel_resources.h"

const struct kernel_resource kernel_resources[] = {
C
  awk -F'\t' 'NF {
    cc = $2; gsub(/[^0-9]/, "", cc)
    printf "    {\"%s\", %d, %d, %d, %d, %d},\n", $1, int(cc / 10), cc % 10, $3, $4, $5
  }' <<<"$1"
  cat <<'C'
    {0},
};
const size_t kernel_resource_count = sizeof kernel_resources / sizeof kernel_resources[0] - 1;
C
}

main() {
  local mode=${1:-}
  shift || true
  local rows
  rows=$(list "$@")
  case $mode in
    --list) [ -z "$rows" ] || printf '%s\n' "$rows" ;;
    --c)
      refuse_unmappable <<<"$rows"
      as_c "$rows"
      ;;
    *)
      echo "usage: ${0##*/} --list|--c [FILE.ptxas...]" >&2
      exit 2
      ;;
  esac
}

main "$@"
