#!/usr/bin/env bash
# Feeds random input to everything that reads what others wrote, with clang's libFuzzer under AddressSanitizer and UBSan.
#
#   fuzz.sh smoke SECONDS [TARGET...]   each target for that long, from its corpus in tests/fuzz/corpus
#   fuzz.sh replay                      the corpora alone, once
#   fuzz.sh grow SECONDS [TARGET...]    like smoke; then the smallest inputs that reach all the code become the corpus
#   fuzz.sh available                   exit 0 when clang has libFuzzer here
#
# Writes TAP with the number of executions of each target, and the sums of this call and of all calls in this tree, which
# are in build/fuzz/executions.tsv: when, commit, target, executions, exit status. What crashed a target is in build/fuzz/TARGET;
# when it is mended, put it into the corpus under a name that says what it was. FUZZ_JOBS targets run at once (default 1).
set -euo pipefail
cd "$(dirname "$0")/../.."

MAKE=${MAKE:-make}
FLAGS=(CUDA=0 WERROR=0 CC=clang CXX=clang++ "SANITIZE=fuzzer-no-link,address,undefined")
WORK=build/fuzz
# No input that makes a target slow or large is worth keeping; a report's is larger than the others'.
LIMITS=(-timeout=20 -rss_limit_mb=2048 -max_len=24576 -print_final_stats=1 -verbosity=1)
# A crash is reported by libFuzzer, not by a core file; memory is freed at once, so that what is kept too long is seen.
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

available() {
  command -v clang >/dev/null && command -v clang++ >/dev/null || return 1
  echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n > 0; }' |
    clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null
}

# Words that a reader looks for: those in quotes of the corpus, and the options of the program.
dictionary() {
  local target=$1
  find "tests/fuzz/corpus/$target" -type f -exec cat {} + | LC_ALL=C grep -aoE '"[A-Za-z0-9_.:/]{1,40}"|--[a-z-]+' |
    LC_ALL=C sort -u | sed 's/^"\(.*\)"$/\1/; s/.*/"&"/' >"$WORK/$target.dict"
}

# executions_of LOG
executions_of() { sed -n 's/^stat::number_of_executed_units: *//p' "$1" | tail -n 1; }

# sum SED-SCRIPT [FILE...]: of the numbers that the script leaves.
sum() { sed -n "$@" | awk '{ n += $1 } END { printf "%d\n", n }'; }

# run_one TARGET OPTIONS...: one target into its log; TAP with its number of executions.
run_one() {
  local target=$1 log=$WORK/$1.log code=0 count
  shift
  mkdir -p "$WORK/$target" "$WORK/$target.found"
  dictionary "$target"
  "$FOLDER/fuzz_$target" "${LIMITS[@]}" -dict="$WORK/$target.dict" -artifact_prefix="$WORK/$target/" "$@" >"$log" 2>&1 || code=$?
  count=$(executions_of "$log")
  printf '%s\t%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" "$target" \
    "${count:-0}" "$code" >>"$WORK/executions.tsv"
  if [ "$code" -eq 0 ]; then
    echo "ok - $target: ${count:-0} executions"
  else
    echo "not ok - $target: status $code after ${count:-some} executions; see $log"
    grep -aE '^(==|SUMMARY|artifact_prefix|MS:|.*runtime error)' "$log" | tail -n 6 | sed 's/^/# /'
  fi
}

# The smallest set of inputs that reaches what the old and the new ones reach together.
shrink() {
  local target=$1 new=$WORK/$1.new
  rm -rf "$new" && mkdir -p "$new"
  "$FOLDER/fuzz_$target" "${LIMITS[@]}" -set_cover_merge=1 -use_counters=0 "$new" "tests/fuzz/corpus/$target" "$WORK/$target.found" >>"$WORK/$target.log" 2>&1
  # Those with a name of their own stay: each was a defect once.
  find "tests/fuzz/corpus/$target" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -delete
  cp "$new"/* "tests/fuzz/corpus/$target/"
}

main() {
  local what=${1:-} seconds=${2:-0} target targets=() outputs=()
  case $what in
    available) available; return ;;
    smoke | grow) shift 2 ;;
    replay) shift ;;
    *)
      sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" >&2
      return 2
      ;;
  esac
  if ! available; then
    echo "ok - fuzz targets # SKIP no clang with libFuzzer here"
    return
  fi
  targets=("$@")
  if [ ${#targets[@]} -eq 0 ]; then
    for target in tests/fuzz/fuzz_*.c; do target=${target##*/fuzz_} && targets+=("${target%.c}"); done
  fi
  "$MAKE" "${FLAGS[@]}" fuzz-programs >&2
  FOLDER=$("$MAKE" -s "${FLAGS[@]}" print-BUILD)/tests/fuzz
  mkdir -p "$WORK"
  for target in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "${FUZZ_JOBS:-1}" ]; do wait -n; done
    case $what in
      replay) run_one "$target" -runs=0 "tests/fuzz/corpus/$target" >"$WORK/$target.tap" & ;;
      smoke | grow) run_one "$target" -max_total_time="$seconds" "$WORK/$target.found" "tests/fuzz/corpus/$target" >"$WORK/$target.tap" & ;;
    esac
    outputs+=("$WORK/$target.tap")
  done
  wait
  cat "${outputs[@]}"
  echo "# $(sum 's/.*: \([0-9]*\) executions$/\1/p' "${outputs[@]}") executions in all, and $(cut -f 4 "$WORK/executions.tsv" | sum p) in this tree so far"
  if [ "$what" = grow ]; then
    for target in "${targets[@]}"; do shrink "$target"; done
  fi
  ! grep -q '^not ok' "${outputs[@]}"
}

main "$@"
