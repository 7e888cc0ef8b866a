#!/usr/bin/env bash
# Runs the rungs of a test level and counts every test over all of them.
#
#   run_tests.sh lint   layers, shell and Python scripts, format
#   run_tests.sh check  the inner loop: lint, then units and the quick command-line tests without CUDA
#   run_tests.sh cpu    lint, build, units, command line, spills, and units and command line under sanitizers;
#                       GPU tests are listed as skipped
#   run_tests.sh asan   the sanitizer rungs alone, all of them
#   run_tests.sh emulated   all cases and mutants on the emulated GPU, of which cpu draws a part (it takes ten minutes)
#   run_tests.sh coverage   units and command line without CUDA, and how much of cli/ they run
#   run_tests.sh gpu    the tests that need a GPU; exit 77 when there is none
#   run_tests.sh sanitize-gpu     compute-sanitizer's tools over every variant, a part of `gpu`; --no-build as well
#   run_tests.sh gpu --no-build   the same with what ATTNBENCH_BUILD holds, where there is no compiler
#   run_tests.sh gpu-missing      exit 0 when this machine has no NVIDIA GPU
#
# Each rung speaks TAP, kept in build/test-logs/. The names of failed tests come at the end; the last line is "N passed,
# N failed, N skipped". The exit status is 0 only when nothing failed and something passed. Environment: MAKE, BATS, V=1
# (show every test), TEST_JOBS (rungs at once; default: two per core, since many tests wait for sleeping programs),
# GENCODE_GIVEN (not empty: build for the GPUs that GENCODE says, not for one), ATTN_SURROUNDINGS (a number: the
# surroundings of `check`, `cpu` and `asan`, which are drawn at each run; see surroundings.sh).
# shellcheck disable=SC2317,SC2329  # rung and step call functions by name
set -uo pipefail
export LC_ALL=C
shopt -s extglob
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=scripts/build/surroundings.sh disable=SC1091
. scripts/build/surroundings.sh

MAKE=${MAKE:-make}
BATS=${BATS:-bats}
LOGS=build/test-logs
SANITIZERS=(CUDA=0 "SANITIZE=address,undefined")
COVERED=(CUDA=0 WERROR=0 "CFLAGS=-O0 -g --coverage" LDFLAGS=--coverage)
COVERED_LEAST=97 # percent of lines of cli/
JOBS=${TEST_JOBS:-$((2 * $(nproc 2>/dev/null || echo 1)))}
# A file says in a line of its own what it is left out of, "# tags: slow asan" or, in C, "/* tags: asan */":
#   long         nothing: it takes tens of seconds, and is started before the others
#   slow         of `check`: it takes more than a few seconds
#   asan         of the sanitizers but in the level asan: it takes long, and other tests run the same code
#   unsanitized  of the sanitizers: it tests scripts
#   builds       of the sanitizers and of coverage: it builds programs of its own
passed=0 failed=0 skipped=0
queue=() failures=()

# Counts TAP on stdin: prints "passed failed skipped". A test that the plan promised and that never came has failed.
# cmocka writes a skipped test as "not ok N # SKIP", so the directive is looked at first.
count_tap() {
  awk '
    /^1\.\.[0-9]+/ { planned += substr($1, 4) }
    /^(not )?ok( |$)/ {
      ++seen
      if ($0 ~ /# *[Ss][Kk][Ii][Pp]/) ++skip
      else if ($1 == "ok") ++ok
      else ++bad
    }
    END {
      if (planned > seen) bad += planned - seen
      print ok + 0, bad + 0, skip + 0
    }'
}

# What a person reads of a rung: failures with their comments, and skips; everything with V=1.
show_tap() {
  if [ "${V:-0}" = 1 ]; then
    cat
  else
    awk '
      /^(not )?ok( |$)/ {
        skip = ($0 ~ /# *[Ss][Kk][Ii][Pp]/)
        show = skip || $1 == "not"
        if (skip) sub(/^not ok/, "ok")
      }
      /^1\.\./ { next }
      show || !/^(ok|#)/'
  fi
}

log_of() { printf '%s/%s.tap' "$LOGS" "${1//[^A-Za-z0-9]/_}"; }

# run_logged NAME COMMAND...: runs a command that writes TAP into its log; how it ended goes beside it: its status, its
# seconds, and those of all its processes' CPU time, which tell what it costs on a machine that does other work too.
run_logged() {
  local log code TIMEFORMAT='%R %U %S'
  log=$(log_of "$1")
  shift
  { time "$@" >"$log" 2>&1 </dev/null; } 2>"$log.time"
  code=$?
  awk -v code="$code" '{ printf "%d %.0f %.0f\n", code, $1, $2 + $3 }' "$log.time" >"$log.end.new"
  rm -f "$log.time"
  mv "$log.end.new" "$log.end"
}

# name_failures RUNG COUNT: remembers the failed tests of the TAP on stdin for the list at the end.
name_failures() {
  local rung=$1 count=$2 name
  while read -r name; do
    failures+=("$rung: $name")
    count=$((count - 1))
  done < <(sed -nE '/# *[Ss][Kk][Ii][Pp]/d; s/^not ok( [0-9]+)? *(- )?//p')
  [ "$count" -le 0 ] || failures+=("$rung: $count tests of its plan did not run")
}

# tell NAME: shows a rung that has ended, and adds its counts.
tell() {
  local name=$1 log ok bad skip code seconds cpu
  log=$(log_of "$name")
  read -r code seconds cpu <"$log.end" || code=1 seconds=0 cpu=0
  rm -f "$log.end"
  read -r ok bad skip < <(count_tap <"$log")
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then
    echo "not ok - ended with status $code although no test failed" >>"$log"
    bad=1
  elif [ $((ok + bad + skip)) -eq 0 ]; then
    echo "not ok - ran no test" >>"$log"
    bad=1
  fi
  show_tap <"$log"
  [ "$bad" -eq 0 ] || name_failures "$name" "$bad" <"$log"
  printf '%-28s %4d passed, %d failed, %d skipped  (%d s, CPU %d s)\n' "$name" "$ok" "$bad" "$skip" "$seconds" "$cpu"
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

rung() {
  run_logged "$@"
  tell "$1"
}

# later NAME COMMAND...: puts a rung into the queue. Its words may not hold tabs.
later() {
  local IFS=$'\t'
  queue+=("$*")
}

# Runs the queue, at most JOBS rungs at once, and tells of each as it ends.
run_queue() {
  local entry words name waiting=()
  local -A core_of=() # of the rungs that run
  for entry in "${queue[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do
      wait -n
      tell_ended
    done
    IFS=$'\t' read -r -a words <<<"$entry"
    rm -f "$(log_of "${words[0]}").end"
    pick_core "${core_of[@]}"
    core_of[${words[0]}]=$SURROUNDINGS_CORE
    run_logged "${words[@]}" &
    waiting+=("${words[0]}")
  done
  wait
  tell_ended
  # A rung that was killed before it wrote how it ended.
  for name in "${waiting[@]}"; do tell "$name"; done
  queue=()
}

# Tells of the rungs in `waiting` that have ended and takes them off.
tell_ended() {
  local name left=()
  for name in "${waiting[@]}"; do
    if [ -s "$(log_of "$name").end" ]; then
      tell "$name"
      unset "core_of[$name]"
    else
      left+=("$name")
    fi
  done
  waiting=("${left[@]}")
}

# One step as one test: its output is shown when it fails.
step() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "ok - $name"
  else
    echo "not ok - $name"
    printf '%s\n' "$output" | sed 's/^/# /'
    return 1
  fi
}

# ---- rungs --------------------------------------------------------------------------------------------------------

lint_scripts() {
  if ! command -v shellcheck >/dev/null; then
    echo "ok - shell scripts # SKIP no shellcheck here"
    return
  fi
  local script code=0
  for script in .ci/run scripts/*.sh scripts/*/*.sh tests/*.bash tests/*/*.bash; do
    step "shellcheck $script" shellcheck -s bash "$script" || code=1
  done
  return "$code"
}

lint_python() {
  if ! command -v ruff >/dev/null; then
    echo "ok - Python scripts # SKIP no ruff here (pip install ruff)"
    return
  fi
  step "ruff check scripts" ruff check --no-cache scripts
}

# Releases of clang-format disagree; the sources are as release 14 writes them.
lint_format() {
  case $(clang-format --version 2>/dev/null) in
    *"version 14."*) step "format (make format repairs it)" "$MAKE" -s format-check ;;
    *) echo "ok - format # SKIP no clang-format 14 here" ;;
  esac
}

# Builds; its own output goes to the terminal, since it is long and worth watching.
build() {
  local name=$1
  shift
  echo "-- $name"
  if "$MAKE" "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures+=("$name")
    echo "not ok - $name"
    return 1
  fi
}

build_folder() { "$MAKE" -s "$@" print-BUILD; }

# Machine code for one kind of GPU says as much about the host code as for four, and no test reads line numbers in it.
# An earlier build for all is reused.
build_for_one_gpu() {
  [ -n "${GENCODE_GIVEN:-}" ] || [ -x "$(build_folder)/attnbench" ] || export GENCODE=native NVCCFLAGS=${NVCCFLAGS:--O3}
}

run_unit() { surrounded env CMOCKA_MESSAGE_OUTPUT=TAP "$1"; }

# run_bats FOLDER FILE: with the programs of that build.
run_bats() {
  export ATTNBENCH=$PWD/$1/attnbench ATTNBENCH_FAULTY=
  [ ! -x "$1/attnbench-faulty" ] || ATTNBENCH_FAULTY=$PWD/$1/attnbench-faulty
  surrounded "$BATS" --tap "$2"
}

# later_tests LABEL FOLDER TAGS [WRAPPER]: every test but those that have one of the tags (TAG|TAG); those tagged long first, and
# of the others the largest .bats files, so that nothing long is left when the queue runs dry.
later_tests() {
  local label=$1 folder=$2 tagged='^(#|/\*) tags:.* ' wrapper=${4:-} file name tests long
  mapfile -t tests < <(grep -LE "$tagged($3)( |$)" tests/!(gpu)/*.bats | xargs ls -S)
  mapfile -t -O "${#tests[@]}" tests < <(grep -LE "$tagged($3)( |$)" tests/*/unit_*.c)
  mapfile -t long < <(grep -lE "${tagged}long( |$)" "${tests[@]}")
  mapfile -t -O "${#long[@]}" long < <(grep -LE "${tagged}long( |$)" "${tests[@]}")
  for file in "${long[@]}"; do
    name=$(basename -s .c "$file")
    # shellcheck disable=SC2086  # no wrapper is no word
    case $file in
      *.bats) later "$label${file#tests/}" $wrapper run_bats "$folder" "$file" ;;
      *) later "$label$name" $wrapper run_unit "$folder/tests/$name" ;;
    esac
  done
}

# lint HOW: HOW is `rung`, or `later` for the queue.
lint() {
  "$1" "lint: layers" scripts/build/check_layers.sh
  "$1" "lint: scripts" lint_scripts
  "$1" "lint: Python" lint_python
  "$1" "lint: format" lint_format
}

# A process that a test kills while it looks for leaks at its end leaves no report: its file is empty, or has the words of
# the sanitizer's helper that could not stop it.
sanitizer_reports() {
  local log count=0 killed='^==[0-9]+==Unable to get registers from thread [0-9]+\.$'
  for log in "$1".*; do
    grep -qsvE "$killed" "$log" || continue
    count=$((count + 1))
    echo "not ok - sanitizer report in ${log##*/}"
    sed 's/^/# /' "$log"
  done
  [ "$count" -gt 0 ] || echo "ok - no sanitizer report"
}

# with_sanitizers COMMAND...: a worker may die on purpose, so only what a sanitizer itself writes counts, and signals
# keep their meaning.
with_sanitizers() {
  export UBSAN_OPTIONS=print_stacktrace=1:exitcode=99:log_path=$PWD/$LOGS/sanitizer
  export ASAN_OPTIONS=exitcode=99:log_path=$PWD/$LOGS/sanitizer
  ASAN_OPTIONS+=:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0
  ASAN_OPTIONS+=:verify_asan_link_order=0 # another library is loaded before the sanitizers
  "$@"
}

# later_sanitized TAGS: the tests under sanitizers but those with one of the tags.
later_sanitized() {
  local folder
  build "build with sanitizers" "${SANITIZERS[@]}" test-programs || return
  folder=$(build_folder "${SANITIZERS[@]}")
  rm -f "$LOGS"/sanitizer.*
  later_tests "sanitized: " "$folder" "$1" with_sanitizers
  later "sanitized: fuzz corpora" with_sanitizers replay_corpora "$folder"
}

# What the fuzz targets once found, and what reaches their code (scripts/build/fuzz.sh).
replay_corpora() { scripts/build/fuzz.sh unpack build/fuzz/corpus && "$1/tests/replay" build/fuzz/corpus; }

gpu_missing() {
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -c '^GPU ' >/dev/null; then return 1; fi
  if compgen -G '/dev/nvidia[0-9]*' >/dev/null || [ -e /dev/dxg ]; then return 1; fi
}

# Names every GPU test as skipped, with the reason.
gpu_skipped() {
  local reason=$1 file
  for file in tests/gpu/*.bats; do
    [ ! -e "$file" ] || sed -n "s/^@test [\"']\(.*\)[\"'] {.*/ok - ${file##*/}: \1 # SKIP $reason/p" "$file"
  done
}

# gpu_bats FOLDER FILE...
gpu_bats() {
  local folder=$1 file
  for file in "${@:2}"; do rung "${file#tests/}" run_bats "$folder" "$file"; done
}

# ---- levels -------------------------------------------------------------------------------------------------------

check() {
  local folder
  lint later
  build "build" CUDA=0 test-programs || { run_queue; return; }
  folder=$(build_folder CUDA=0)
  later_tests "" "$folder" slow
  run_queue
}

cpu() {
  local folder
  lint later
  build_for_one_gpu
  if build "build" test-programs; then
    folder=$(build_folder)
    later "spills" "$MAKE" -s check-spills
    later_tests "" "$folder" none
  fi
  asan "asan|unsanitized|builds"
  if gpu_missing; then
    rung "GPU tests" gpu_skipped "no GPU here"
  else
    rung "GPU tests" gpu_skipped "not part of make test; run make test-gpu"
  fi
}

emulated() {
  build_for_one_gpu
  build "build" test-programs || return
  ATTN_EMULATED=all rung kernels/emulated.bats run_bats "$(build_folder)" tests/kernels/emulated.bats
}

# asan [TAGS]
asan() {
  later_sanitized "${1:-unsanitized|builds}"
  run_queue
  rung "sanitized: reports" sanitizer_reports "$LOGS/sanitizer"
}

# Tests of the build build other programs.
coverage() {
  local folder
  build "build that counts lines" "${COVERED[@]}" test-programs || return
  folder=$(build_folder "${COVERED[@]}")
  find "$folder" -name '*.gcda' -delete
  later_tests "" "$folder" builds
  run_queue
  rung "coverage" scripts/build/coverage.sh "$folder" "$COVERED_LEAST"
}

# gpu FILES [--no-build]
gpu() {
  local folder files=$1
  if gpu_missing; then
    rung "GPU tests" gpu_skipped "no GPU here"
    return 77
  fi
  if [ "${2:-}" != --no-build ]; then build "build" CUDA=1 gpu-programs || return; fi
  folder=${ATTNBENCH_BUILD:-$(build_folder CUDA=1)}
  # shellcheck disable=SC2086  # a list of files
  gpu_bats "$folder" $files
}

# Draws surroundings for the tests: those of ATTN_SURROUNDINGS, and others at each run where it is not set.
surround() {
  ATTN_SURROUNDINGS=${ATTN_SURROUNDINGS:-$((1 + RANDOM % 9999))}
  draw_surroundings "$ATTN_SURROUNDINGS"
  tell_surroundings
}
tell_surroundings() {
  [ -z "$SURROUNDINGS_TEXT" ] || echo "-- surroundings (again: ATTN_SURROUNDINGS=$ATTN_SURROUNDINGS): $SURROUNDINGS_TEXT"
}

main() {
  local level=${1:-} code=0
  if [ "$level" = gpu-missing ]; then
    gpu_missing
    exit
  fi
  mkdir -p "$LOGS"
  ATTN_PYTHON=$(scripts/build/setup.sh python)
  ATTN_JSONSCHEMA=0
  [ -z "$ATTN_PYTHON" ] || ! "$ATTN_PYTHON" -c 'import jsonschema' 2>/dev/null || ATTN_JSONSCHEMA=1
  export ATTN_PYTHON ATTN_JSONSCHEMA
  case $level in check | cpu | asan) surround ;; esac
  case $level in
    lint) lint rung ;;
    check) check ;;
    cpu) cpu ;;
    asan) asan ;;
    emulated) emulated ;;
    coverage) coverage ;;
    gpu) gpu "tests/gpu/*.bats" "${2:-}" || code=$? ;;
    sanitize-gpu) gpu tests/gpu/sanitize.bats "${2:-}" || code=$? ;;
    *)
      echo "usage: ${0##*/} lint|check|cpu|asan|emulated|coverage|gpu [--no-build]|sanitize-gpu [--no-build]|gpu-missing" >&2
      exit 2
      ;;
  esac
  [ "$code" -eq 77 ] || code=0
  [ -z "$SURROUNDINGS_TMP" ] || rung "temporary folder" leave_surroundings
  if [ "$failed" -gt 0 ] || { [ "$passed" -eq 0 ] && [ "$code" -eq 0 ]; }; then code=1; fi
  [ ${#failures[@]} -eq 0 ] || printf '\nfailed:\n'
  [ ${#failures[@]} -eq 0 ] || printf '  %s\n' "${failures[@]}"
  tell_surroundings
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  exit "$code"
}

main "$@"
