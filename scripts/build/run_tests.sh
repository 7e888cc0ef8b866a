#!/usr/bin/env bash
# Runs the rungs of a test level and counts every test over all of them.
#
#   run_tests.sh lint   layers, shell scripts, format
#   run_tests.sh cpu    lint, build, units, command line, spills, then units and command line under sanitizers;
#                       GPU tests are listed as skipped
#   run_tests.sh asan   the sanitizer rungs alone
#   run_tests.sh gpu    the tests that need a GPU; exit 77 when there is none
#   run_tests.sh gpu --no-build   the same with what ATTNBENCH_BUILD holds, where there is no compiler
#
# Each rung speaks TAP, kept in build/test-logs/. The last line is "N passed, N failed, N skipped". The exit status is
# 0 only when nothing failed and something passed. Environment: MAKE, BATS, V=1 (show every test), TEST_JOBS (rungs at
# once; default: three for every two cores).
# shellcheck disable=SC2317  # rung and step call functions by name
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

MAKE=${MAKE:-make}
BATS=${BATS:-bats}
LOGS=build/test-logs
SANITIZERS=(CUDA=0 "SANITIZE=address,undefined")
# Half of the command-line tests wait for sleeping programs.
JOBS=${TEST_JOBS:-$((($(nproc 2>/dev/null || echo 1) * 3 + 1) / 2))}
# These time the CPU against a bound, or build: nothing else may run beside them.
ALONE="build.bats inject.bats selftest.bats"
# Tests of scripts and of the build: the program's own code has other tests.
NOT_SANITIZED="build.bats gate_ci.bats gate_trials.bats profile_scripts.bats results.bats sdpa_baseline.bats update_baseline.bats"
passed=0 failed=0 skipped=0
beside=()

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

# run_logged NAME COMMAND...: runs a command that writes TAP into its log; how it ended goes beside it.
run_logged() {
  local log start=$SECONDS
  log=$(log_of "$1")
  shift
  "$@" >"$log" 2>&1 </dev/null
  echo "$? $((SECONDS - start))" >"$log.end"
}

# tell NAME: shows a rung that has ended, and adds its counts.
tell() {
  local name=$1 log ok bad skip code seconds
  log=$(log_of "$name")
  read -r code seconds <"$log.end" || code=1 seconds=0
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
  printf '%-28s %4d passed, %d failed, %d skipped  (%d s)\n' "$name" "$ok" "$bad" "$skip" "$seconds"
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

rung() {
  run_logged "$@"
  tell "$1"
}

# rung_beside NAME COMMAND...: the same beside others, at most JOBS at once; all of them have been told after rungs_end.
rung_beside() {
  while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
  rm -f "$(log_of "$1").end"
  run_logged "$@" &
  beside+=("$1")
}

rungs_end() {
  local name
  wait
  for name in "${beside[@]}"; do tell "$name"; done
  beside=()
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
  local script failures=0
  for script in .ci/run scripts/*.sh scripts/*/*.sh tests/cli/*.bash; do
    step "shellcheck $script" shellcheck -s bash "$script" || failures=1
  done
  return "$failures"
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
  if "$MAKE" "$@" test-programs; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "not ok - $name"
    return 1
  fi
}

build_folder() { "$MAKE" -s "$@" print-BUILD; }

units() {
  local label=$1 folder=$2 program
  for program in "$folder"/tests/unit_*; do
    case $program in *.[doc] | *\*) continue ;; esac
    [ -f "tests/${program##*/}.c" ] || continue
    CMOCKA_MESSAGE_OUTPUT=TAP rung_beside "$label${program##*/}" "$program"
  done
  rungs_end
}

is_one_of() { [[ " $2 " == *" $1 "* ]]; }

# command_line LABEL FOLDER [FILES]: every .bats file but FILES.
command_line() {
  local label=$1 folder=$2 except=${3:-} file
  export ATTNBENCH=$PWD/$folder/attnbench ATTNBENCH_FAULTY=
  [ ! -x "$folder/attnbench-faulty" ] || ATTNBENCH_FAULTY=$PWD/$folder/attnbench-faulty
  for file in tests/cli/*.bats; do
    if [ ! -e "$file" ] || is_one_of "${file##*/}" "$except $ALONE"; then continue; fi
    rung_beside "$label${file#tests/}" "$BATS" --tap "$file"
  done
  rungs_end
  for file in $ALONE; do
    is_one_of "$file" "$except" || rung "${label}cli/$file" "$BATS" --tap "tests/cli/$file"
  done
}

lint() {
  rung "lint: layers" scripts/build/check_layers.sh
  rung "lint: scripts" lint_scripts
  rung "lint: Python" lint_python
  rung "lint: format" lint_format
}

sanitizer_reports() {
  local log count=0
  for log in "$1".*; do
    [ -e "$log" ] || continue
    count=$((count + 1))
    echo "not ok - sanitizer report in ${log##*/}"
    sed 's/^/# /' "$log"
  done
  [ "$count" -gt 0 ] || echo "ok - no sanitizer report"
}

# A worker may die on purpose, so only what a sanitizer itself writes counts, and signals keep their meaning.
sanitized() {
  local folder reports=$PWD/$LOGS/sanitizer
  build "build with sanitizers" "${SANITIZERS[@]}" || return
  folder=$(build_folder "${SANITIZERS[@]}")
  rm -f "$reports".*
  export UBSAN_OPTIONS=print_stacktrace=1:exitcode=99:log_path=$reports
  export ASAN_OPTIONS=exitcode=99:fast_unwind_on_malloc=0:log_path=$reports
  ASAN_OPTIONS+=:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0
  units "sanitized: " "$folder"
  command_line "sanitized: " "$folder" "$NOT_SANITIZED"
  rung "sanitized: reports" sanitizer_reports "$reports"
  unset UBSAN_OPTIONS ASAN_OPTIONS
}

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
  for file in tests/gpu_*.c tests/gpu/gpu_*.c; do
    [ ! -e "$file" ] || echo "ok - ${file##*/} # SKIP $reason"
  done
}

gpu_tests() {
  local folder=$1 file program
  for program in "$folder"/tests/gpu_*; do
    case $program in *.[doc] | *\*) continue ;; esac
    [ -f "$program" ] || continue
    CMOCKA_MESSAGE_OUTPUT=TAP rung "${program##*/}" "$program"
  done
  export ATTNBENCH=$PWD/$folder/attnbench ATTNBENCH_FAULTY=
  [ ! -x "$folder/attnbench-faulty" ] || ATTNBENCH_FAULTY=$PWD/$folder/attnbench-faulty
  for file in tests/gpu/*.bats; do
    [ ! -e "$file" ] || rung "${file#tests/}" "$BATS" --tap "$file"
  done
}

# ---- levels -------------------------------------------------------------------------------------------------------

cpu() {
  local folder
  lint
  if build "build" && folder=$(build_folder); then
    units "" "$folder"
    command_line "" "$folder"
    rung "spills" "$MAKE" -s check-spills
  fi
  sanitized
  if gpu_missing; then
    rung "GPU tests" gpu_skipped "no GPU here"
  else
    rung "GPU tests" gpu_skipped "not part of make test; run make test-gpu"
  fi
}

gpu() {
  local folder
  if gpu_missing; then
    rung "GPU tests" gpu_skipped "no GPU here"
    return 77
  fi
  if [ "${1:-}" != --no-build ]; then build "build" CUDA=1 || return; fi
  folder=${ATTNBENCH_BUILD:-$(build_folder CUDA=1)}
  gpu_tests "$folder"
}

main() {
  local level=${1:-} code=0
  mkdir -p "$LOGS"
  case $level in
    lint) lint ;;
    cpu) cpu ;;
    asan) sanitized ;;
    gpu) gpu "${2:-}" || code=$? ;;
    *)
      echo "usage: ${0##*/} lint|cpu|asan|gpu [--no-build]" >&2
      exit 2
      ;;
  esac
  [ "$code" -eq 77 ] || code=0
  if [ "$failed" -gt 0 ] || { [ "$passed" -eq 0 ] && [ "$code" -eq 0 ]; }; then code=1; fi
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  exit "$code"
}

main "$@"
