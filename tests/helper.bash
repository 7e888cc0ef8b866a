# Loaded by every .bats file:  load ../helper
# Works with bats 1.2 and newer. Tests run from the repository root, so `shapes/v3.json` can be written as it is.
#
#   ATTNBENCH          the binary under test (default ./attnbench)
#   ATTNBENCH_FAULTY   the same with the planted faults of tests/faults.def linked in
#
# After `attn ARGS...`, or `must 0 attn ARGS...`: $status is the exit code, $OUT and $ERR are files holding stdout and
# stderr.
# $TMP is an empty folder of this test's own.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 1
ATTNBENCH=${ATTNBENCH:-$ROOT/attnbench}
ATTNBENCH_FAULTY=${ATTNBENCH_FAULTY:-}

# Read outside of a test too: there bats, from 1.4 on, has a folder of its own that it removes.
TMP=${BATS_TEST_TMPDIR:-${BATS_RUN_TMPDIR:-$(mktemp -d "${BATS_TMPDIR:-/tmp}/attnbench.XXXXXX")}}
# What a program that was killed leaves goes with the test's folder.
export TMPDIR=$TMP/.tmp
mkdir -p "$TMPDIR"
OUT=$TMP/.stdout
ERR=$TMP/.stderr

# file_folder: prints a folder for all tests of a file, for setup_file.
file_folder() { echo "${BATS_FILE_TMPDIR:-$(mktemp -d "${BATS_TMPDIR:-/tmp}/attnbench.XXXXXX")}"; }

# scripts/build/run_tests.sh draws locale, COLUMNS and the like: a test that looks at one of them sets it.
unset NO_COLOR CLICOLOR_FORCE

# Runs a command with both streams kept; never fails by itself.
capture() {
  status=0
  "$@" >"$OUT" 2>"$ERR" </dev/null || status=$?
}

attn() { capture "$ATTNBENCH" "$@"; }
attn_faulty() {
  [ -n "$ATTNBENCH_FAULTY" ] || skip "ATTNBENCH_FAULTY is not set; make test sets it"
  capture "$ATTNBENCH_FAULTY" "$@"
}

# The process ids of PID's children; procps is not everywhere. Starts no process itself: on a busy machine what is
# looked for would be gone.
children_of() {
  local folder line _ parent
  for folder in /proc/[0-9]*; do
    { read -r line <"$folder/stat"; } 2>/dev/null || continue
    # The name in parentheses may hold spaces; the parent is the second field after it.
    read -r _ parent _ <<<"${line##*) }"
    [ "$parent" != "$1" ] || printf '%s\n' "${folder#/proc/}"
  done
}

# wait_for_child PID: sets CHILD to the first child of a running program; fails when the program ends without one.
wait_for_child() {
  CHILD=""
  while [ -z "$CHILD" ]; do
    kill -0 "$1" 2>/dev/null || fail "process $1 ended, or never had a child"
    CHILD=$(children_of "$1" | head -n 1)
    [ -n "$CHILD" ] || sleep 0.01
  done
}

# The object of the variant `steady` (tests/plugins/steady.c): beside the program, or in the build of ./attnbench.
need_steady() {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/tests/plugins/steady.so" ] || folder=$(make -s print-BUILD)
  STEADY=$folder/tests/plugins/steady.so
  [ -f "$STEADY" ] || skip "no $STEADY; make test-programs builds it"
}

# hold_at N: programs started from here on stand still in the Nth process that runs the variant `steady` (tests/plugins);
# wait_for_hold: until one does; interrupt PID: interrupts the program then, which must end with 130.
hold_at() { export STEADY_FILE="$TMP/processes" STEADY_AT=$1 STEADY_HOW=hang; }
wait_for_hold() {
  for _ in $(seq 400); do
    if [ -e "$STEADY_FILE" ] && [ "$(wc -c <"$STEADY_FILE")" -ge "$STEADY_AT" ]; then return; fi
    sleep 0.05
  done
  fail "process $STEADY_AT did not come"
}
interrupt() {
  wait_for_hold
  kill -INT "$1"
  ended "$1" 130
}

# ended PID STATUS: waits for a program of this shell, which must end with that status.
ended() {
  status=0
  wait "$1" || status=$?
  expect_status "$2"
}

# Fails with everything that is needed to see why.
fail() {
  printf '%s\n' "$*"
  printf -- '--- status %s\n--- stdout\n' "${status:-none}"
  if [ -f "$OUT" ]; then head -c 4000 "$OUT"; fi
  printf -- '--- stderr\n'
  if [ -f "$ERR" ]; then head -c 4000 "$ERR"; fi
  return 1
} >&2

expect_status() { [ "$status" -eq "$1" ] || fail "exit status $status, expected $1"; }
# must N COMMAND: the command, which keeps its status as `capture` does, and has to end with N.
must() {
  "${@:2}"
  expect_status "$1"
}

# found FILE GREP-OPTION TEXT: in the file as it is, or where a line that goes on, indented, below itself is one line: how
# wide the lines are is nobody's business who does not set COLUMNS.
found() {
  grep -q "$2" -e "$3" "$1" 2>/dev/null || sed -e ':a' -e '$!N; s/\n  */ /; ta' -e 'P; D' "$1" 2>/dev/null | grep -q "$2" -e "$3"
}
# each_found FILE GREP-OPTION COMPLAINT TEXT...
each_found() {
  local text
  for text in "${@:4}"; do found "$1" "$2" "$text" || fail "$3: $text"; done
}
expect_out() { each_found "$OUT" -F "stdout lacks" "$@"; }
expect_err() { each_found "$ERR" -F "stderr lacks" "$@"; }
expect_out_matches() { each_found "$OUT" -E "stdout has no match of" "$@"; }
expect_err_matches() { each_found "$ERR" -E "stderr has no match of" "$@"; }
refute_out() { ! found "$OUT" -F "$1" || fail "stdout should not have: $1"; }
refute_err() { ! found "$ERR" -F "$1" || fail "stderr should not have: $1"; }
expect_no_out() { [ ! -s "$OUT" ] || fail "stdout should be empty"; }
expect_no_err() { [ ! -s "$ERR" ] || fail "stderr should be empty"; }
expect_err_lines() {
  [ "$(wc -l <"$ERR")" -eq "$1" ] || fail "stderr has $(wc -l <"$ERR") lines, expected $1"
}

# attn ARGS, then its exit code and one fragment of stderr, and nothing on stdout:
#   expect_refusal 2 '--nonsense' -- --nonsense
expect_refusal() {
  local code=$1 text=$2
  shift 3
  attn "$@"
  expect_status "$code" && expect_err "$text" && expect_no_out
}

# Writes a sweep (or any text) to a file and prints its path:  sweep=$(write_file s.json '{...}')
write_file() {
  printf '%s' "$2" >"$TMP/$1"
  printf '%s' "$TMP/$1"
}

# drop_checksums FILE...: journals and reports as an older attnbench wrote them, so that a test may change them.
drop_checksums() {
  sed -i -zE 's/,\s*"checksum":\s*"[0-9a-f]{16}"(\s*\}(\n|$))/\1/g; s/"has_checksum":\s*true,\s*//' "$@"
}

# The python3 of the tests. scripts/build/run_tests.sh looks for it once and exports the answer.
if [ -z "${ATTN_PYTHON:-}" ]; then ATTN_PYTHON=$(scripts/build/setup.sh python) || true; fi
if [ -n "$ATTN_PYTHON" ] && [ -z "${ATTN_JSONSCHEMA:-}" ]; then
  "$ATTN_PYTHON" -c 'import jsonschema' 2>/dev/null && ATTN_JSONSCHEMA=1 || ATTN_JSONSCHEMA=0
fi
export ATTN_PYTHON ATTN_JSONSCHEMA
need_jsonschema() { [ "$ATTN_JSONSCHEMA" = 1 ] || skip "python3-jsonschema is not installed"; }
# For a line that needs it in a test that does not: false where it is not there, and the log says which line was left out.
can_validate() { [ "$ATTN_JSONSCHEMA" = 1 ] || ! echo "not validated without python3-jsonschema: $*" >&2; }
# A program with sanitizers takes ten times as long: a test over many cases that differ in numbers alone takes some of them.
is_sanitized() { grep -q __asan_init "$ATTNBENCH"; }
need_git() { command -v git >/dev/null || skip "git is not installed"; }

python() {
  case $1 in *validate_report.py) can_validate "$@" || return 0 ;; esac
  "$ATTN_PYTHON" "$@"
}

# json FILE EXPRESSION prints a Python expression over the parsed document d, as JSON:
#   [ "$(json "$OUT" 'd["summary"]["ok"]')" = 4 ]
json() {
  "$ATTN_PYTHON" -I -S -c '
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
print(json.dumps(eval(sys.argv[2])))' "$1" "$2"
}

# expect_json FILE EXPRESSION: the expression over d must be true.
expect_json() { [ "$(json "$1" "bool($2)")" = true ] || fail "not true of $1: $2"; }

# expect_valid [--sample] SCHEMA FILE...: each FILE matches the JSON Schema; every violation is printed with its path.
# --sample: of a report's rows with one variant and status one is held against it, since the schema takes long.
expect_valid() {
  can_validate "$@" || return 0
  "$ATTN_PYTHON" -c '
import json, sys, jsonschema
sample = sys.argv[1] == "--sample"
schema = json.load(open(sys.argv[1 + sample], encoding="utf-8"))
validator = jsonschema.validators.validator_for(schema)
validator.check_schema(schema)
bad = False
for path in sys.argv[2 + sample:]:
    document = json.load(open(path, encoding="utf-8"))
    if sample:
        document["results"] = list({(r["variant"], r["status"]): r for r in document["results"]}.values())
    for e in list(validator(schema).iter_errors(document))[:10]:
        print(path + ": " + "/".join(map(str, e.absolute_path)) + ": " + e.message[:300], file=sys.stderr)
        bad = True
sys.exit(bad)' "$@"
}
refute_valid() { ! can_validate "$@" || ! expect_valid "$@" 2>/dev/null || fail "$2 should not match $1"; }
