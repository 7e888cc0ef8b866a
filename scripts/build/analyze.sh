#!/usr/bin/env bash
# Looks for mistakes without running anything: gcc -fanalyzer, clang --analyze, and the warnings of both compilers, over
# the C sources of cli/ and kernels/.
#
#   analyze.sh BUILD [FILE.c...]   BUILD: a folder of the host build, for the generated headers; FILE: only these
#
# Writes TAP, a test a file. Takes some minutes of a core: JOBS files at once (default: one per core). Environment: GCC,
# CLANG, CJSON_CFLAGS, WARNINGS (of both).
set -euo pipefail
cd "$(dirname "$0")/../.."

export BUILD=$1 GCC=${GCC:-gcc} CLANG=${CLANG:-clang} CJSON_CFLAGS=${CJSON_CFLAGS:-} WARNINGS=${WARNINGS:--Wall -Wextra}
shift

# Where clang does not see that a formula's steps were checked when it was read, that a row was filled before it is looked
# up, that a loop before wrote what the next one adds to, that
# cJSON_IsString takes NULL, and that one of two values was checked to be there.
is_misjudged() {
  case $1 in
    cli/base/expression.c | cli/rates/power.c | cli/gate/rank.c | cli/page/rows.c | cli/report/measured.c) ;;
    cli/sweep/cases.c | cli/sweep/manifest_variant.c) ;;
    *) return 1 ;;
  esac
}

analyze_one() {
  local file=$1 common out quiet
  common=(-std=c11 -pthread -I. "-I$BUILD/gen" -D_GNU_SOURCE)
  # shellcheck disable=SC2206  # flags are words
  common+=($CJSON_CFLAGS)
  # gcc 12 takes what a function writes through a pointer for unwritten, what it may be given for NULL, and lanes of a
  # vector for bytes.
  quiet=(-Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-null-dereference -Wno-analyzer-null-argument
    -Wno-analyzer-shift-count-overflow)
  out=$(
    # shellcheck disable=SC2086
    {
      "$GCC" "${common[@]}" $WARNINGS -Wno-unknown-warning-option -O2 -c -o /dev/null "$file"
      "$CLANG" "${common[@]}" $WARNINGS -Wno-missing-field-initializers -fsyntax-only "$file"
    } 2>&1
    [ "$file" = kernels/status.c ] || common+=(-include scripts/build/analyze.h)
    "$GCC" "${common[@]}" "${quiet[@]}" -O1 -fanalyzer -c -o /dev/null "$file" 2>&1
    is_misjudged "$file" || "$CLANG" "${common[@]}" --analyze --analyzer-output text \
      -Xclang -analyzer-disable-checker=deadcode.DeadStores -o /dev/null "$file" 2>&1
  ) || true
  if [ -z "$out" ]; then
    echo "ok - $file"
  else
    echo "not ok - $file"
    printf '%s\n' "$out" | head -n 40 | sed 's/^/# /'
    return 1
  fi
}
export -f analyze_one is_misjudged

if ! command -v "$GCC" >/dev/null || ! command -v "$CLANG" >/dev/null; then
  echo "ok - analysers # SKIP needs gcc and clang"
  exit
fi
[ $# -gt 0 ] || set -- cli/*.c cli/*/*.c kernels/*.c kernels/cpu/*.c kernels/variants/*.c
# shellcheck disable=SC2016  # for the shell below
printf '%s\0' "$@" | xargs -0 -P "${JOBS:-$(nproc)}" -n 1 bash -c 'analyze_one "$1"' analyze_one
