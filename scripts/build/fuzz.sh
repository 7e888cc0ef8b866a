#!/usr/bin/env bash
# Feeds random input to everything that reads what others wrote, with clang's libFuzzer under AddressSanitizer and UBSan.
#
#   fuzz.sh smoke SECONDS [TARGET...]   each target for that long, from its corpus
#   fuzz.sh replay                      the corpora alone, once
#   fuzz.sh grow SECONDS [TARGET...]    like smoke; then the smallest inputs that reach all the code become the corpus
#   fuzz.sh shrink [TARGET...]          the same with what was found before, in FUZZ_WORK
#   fuzz.sh unpack FOLDER               the corpora as files, in a folder for each target
#   fuzz.sh pack FOLDER [FLAG...]       the programs, for a machine without clang; FLAG is make's, "CFLAGS=-O2 -g1" say
#   fuzz.sh record TABLE...             executions.tsv of some calls into results/reliability/fuzz.tsv, a line a target
#   fuzz.sh available                   exit 0 when clang has libFuzzer here
#
# A corpus is tests/fuzz/corpus/TARGET.tar.gz, and beside it the files of the folder TARGET: what was a defect once, under a
# name that says which.
#
# Writes TAP with the number of executions of each target, and the sums of this call and of all calls in this tree, which
# are in build/fuzz/executions.tsv: when, commit, target, executions, seconds, exit status. What crashed a target is in
# build/fuzz/TARGET; when it is mended, put it into tests/fuzz/corpus/TARGET.
#
# FUZZ_JOBS programs run at once (default 1). FUZZ_PROGRAMS: folders that `pack` filled, instead of building; the programs
# of several folders share what they find. FUZZ_WORK: the folder to work in, instead of build/fuzz. FUZZ_COMMIT: of what
# `pack` built, where there is no git.
set -euo pipefail
cd "$(dirname "$0")/../.."

MAKE=${MAKE:-make}
FLAGS=(CUDA=0 WERROR=0 CC=clang CXX=clang++ "SANITIZE=fuzzer-no-link,address,undefined")
WORK=${FUZZ_WORK:-build/fuzz}
RECORD=results/reliability/fuzz.tsv
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
  find "$WORK/corpus/$target" -type f -exec cat {} + | LC_ALL=C grep -aoE '"[A-Za-z0-9_.:/]{1,40}"|--[a-z-]+' |
    LC_ALL=C sort -u | sed 's/^"\(.*\)"$/\1/; s/.*/"&"/' >"$WORK/$target.dict"
}

# executions_of LOG
executions_of() { sed -n 's/^stat::number_of_executed_units: *//p' "$1" | tail -n 1; }

commit() { echo "${FUZZ_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}"; }

# sum SED-SCRIPT [FILE...]: of the numbers that the script leaves.
sum() { sed -n "$@" | awk '{ n += $1 } END { printf "%d\n", n }'; }

# run_one TARGET PROGRAM LOG OPTIONS...: one program of a target; TAP with its number of executions.
run_one() {
  local target=$1 program=$2 log=$3 code=0 count start=$SECONDS
  shift 3
  LD_LIBRARY_PATH=${program%/*} "$program" "${LIMITS[@]}" -dict="$WORK/$target.dict" -artifact_prefix="$WORK/$target/" "$@" >"$log" 2>&1 || code=$?
  count=$(executions_of "$log")
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "$(commit)" "$target" "${count:-0}" $((SECONDS - start)) "$code" \
    >>"$WORK/executions.tsv"
  if [ "$code" -eq 0 ]; then
    echo "ok - $target: ${count:-0} executions"
  else
    echo "not ok - $target: status $code after ${count:-some} executions; see $log"
    grep -aE '^(==|SUMMARY|artifact_prefix|MS:|.*runtime error)' "$log" | tail -n 6 | sed 's/^/# /'
  fi
}

# run_all WHAT SECONDS TARGET...: every program of every target, FUZZ_JOBS at once; shows their TAP and the sums.
run_all() {
  local what=$1 seconds=$2 target folder number=0 log options
  local outputs=()
  shift 2
  for target in "$@"; do
    mkdir -p "$WORK/$target" "$WORK/$target.found"
    dictionary "$target"
  done
  for folder in "${FOLDERS[@]}"; do
    number=$((number + 1))
    for target in "$@"; do
      while [ "$(jobs -rp | wc -l)" -ge "${FUZZ_JOBS:-1}" ]; do wait -n; done
      log=$WORK/$target.$number.log
      options=(-runs=0 "$WORK/corpus/$target")
      [ "$what" = replay ] || options=(-max_total_time="$seconds" "$WORK/$target.found" "$WORK/corpus/$target")
      run_one "$target" "$folder/fuzz_$target" "$log" "${options[@]}" >"${log%.log}.tap" &
      outputs+=("${log%.log}.tap")
    done
  done
  wait
  cat "${outputs[@]}"
  echo "# $(sum 's/.*: \([0-9]*\) executions$/\1/p' "${outputs[@]}") executions in all, and $(cut -f 4 "$WORK/executions.tsv" | sum p) in this tree so far"
  ! grep -q '^not ok' "${outputs[@]}"
}

unpack() {
  local archive target
  for archive in tests/fuzz/corpus/*.tar.gz; do
    target=${archive##*/} && target=${target%.tar.gz}
    rm -rf "${1:?}/$target" && mkdir -p "$1/$target"
    tar -xzf "$archive" -C "$1/$target"
    [ ! -d "tests/fuzz/corpus/$target" ] || cp "tests/fuzz/corpus/$target"/* "$1/$target"
  done
}

# The smallest set of inputs that reaches, beside those with names, what the old and the new ones reach together.
shrink() {
  local target=$1 new=$WORK/$1.new
  rm -rf "$new" && mkdir -p "$new" "$WORK/$target.found"
  [ ! -d "tests/fuzz/corpus/$target" ] || cp "tests/fuzz/corpus/$target"/* "$new"
  "${FOLDERS[0]}/fuzz_$target" "${LIMITS[@]}" -set_cover_merge=1 -use_counters=0 "$new" "$WORK/corpus/$target" "$WORK/$target.found" >>"$WORK/$target.log" 2>&1
  (cd "$new" && find . -type f -regextype posix-extended -regex './[0-9a-f]{40}' | LC_ALL=C sort | tar -c --format=ustar \
    --mtime=@0 --owner=0 --group=0 --numeric-owner -T - | gzip -9n) >"tests/fuzz/corpus/$target.tar.gz"
}

# build [FLAG...]: prints the folder of the programs.
build() {
  "$MAKE" "${FLAGS[@]}" "$@" fuzz-programs >&2
  echo "$("$MAKE" -s "${FLAGS[@]}" "$@" print-BUILD)/tests/fuzz"
}

# What a machine of another distribution may lack lies beside the programs.
pack() {
  local folder=$1 built program
  built=$(build "${@:2}")
  mkdir -p "$folder"
  for program in tests/fuzz/fuzz_*.c; do
    program=${program##*/} && program=${program%.c}
    strip --strip-debug -o "$folder/$program" "$built/$program"
    cp -L "$(ldd "$built/$program" | awk '/libcjson/ { print $3 }')" "$folder/"
  done
}

# record TABLE...: sums of what several calls left in executions.tsv.
record() {
  local corpus
  corpus=$(git log -1 --format=%cs -- tests/fuzz/corpus)
  mkdir -p "${RECORD%/*}"
  {
    printf '# Written by scripts/build/fuzz.sh record. Seconds are those of the programs together; failures count programs.\n'
    printf 'target\texecutions\tseconds\tfailures\tcommit\tlast_run\tcorpus\n'
    cat "$@" | awk -F '\t' -v OFS='\t' -v corpus="$corpus" '
      { n[$3] += $4; s[$3] += $5; bad[$3] += $6 != 0; commit[$3] = $2; if ($1 > last[$3]) last[$3] = $1 }
      END { for (t in n) print t, n[t], s[t], bad[t], commit[t], last[t], corpus }' | LC_ALL=C sort
  } >"$RECORD.new"
  mv "$RECORD.new" "$RECORD"
}

main() {
  local what=${1:-} seconds=0 code=0 target targets programs
  case $what in
    available) available; return ;;
    pack | record | unpack)
      "$@"
      return
      ;;
    smoke | grow)
      seconds=$2
      shift 2
      ;;
    replay | shrink) shift ;;
    *)
      sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" >&2
      return 2
      ;;
  esac
  if [ -z "${FUZZ_PROGRAMS:-}" ] && ! available; then
    echo "ok - fuzz targets # SKIP no clang with libFuzzer here"
    return
  fi
  targets=("$@")
  if [ ${#targets[@]} -eq 0 ]; then
    for target in tests/fuzz/fuzz_*.c; do target=${target##*/fuzz_} && targets+=("${target%.c}"); done
  fi
  programs=${FUZZ_PROGRAMS:-$(build)}
  read -r -a FOLDERS <<<"$programs"
  mkdir -p "$WORK"
  unpack "$WORK/corpus"
  [ "$what" = shrink ] || run_all "$what" "$seconds" "${targets[@]}" || code=$?
  if [ "$what" = grow ] || [ "$what" = shrink ]; then
    for target in "${targets[@]}"; do shrink "$target"; done
  fi
  return "$code"
}

main "$@"
