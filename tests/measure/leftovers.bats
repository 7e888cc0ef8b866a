# tags: slow asan
# What a loaded variant leaves in its worker is charged to its cell, and the next cell starts without it.
load ../helper

setup() {
  FOLDER=$(dirname "$ATTNBENCH")
  [ -f "$FOLDER/tests/plugins/leaves.so" ] || FOLDER=$(make -s print-BUILD)
  LEAVES_SO=$FOLDER/tests/plugins/leaves.so
  [ -f "$LEAVES_SO" ] || skip "no $LEAVES_SO; make test-programs builds it"
  # A process of these tests is known by its environment, whatever group or session it is in.
  export LEAVES_MARK=$BATS_TEST_NAME.$$ LEAVES_FOLDER=$TMP
  SWEEP=$(write_file s.json '{"attnbench_sweep": 1, "name": "s", "shapes": [{"B": 1, "H": 1, "S": 1, "D": 64}]}')
}

teardown() { rm -f "/dev/shm/attnbench-leaves.$$" "/dev/shm/.attnbench-leaves.$$" "/dev/mqueue/attnbench-leaves.$$"; }

# kernel_grants NUMBER_X86_64 NUMBER_AARCH64 ARGUMENT...: whether the kernel has a system call and grants it to this user.
kernel_grants() {
  python -c 'import ctypes, platform, sys
number = dict(zip(("x86_64", "aarch64"), map(int, sys.argv[1:3])))[platform.machine()]
sys.exit(ctypes.CDLL(None).syscall(number, *map(int, sys.argv[3:])) < 0)' "$@"
}

leaving() {
  export LEAVES=$1
  shift
  attn --sweep "$SWEEP" --device cpu --load "$LEAVES_SO" --variants leaves,cpu_ref,cpu_flash --check-only --timeout 20 \
    --json "$TMP/r.json" "$@"
}

# The processes with this test's mark that run attnbench's worker.
marked() {
  local folder
  for folder in $(grep -lszFx -- "LEAVES_MARK=$LEAVES_MARK" /proc/[0-9]*/environ); do
    { tr '\0' ' ' <"${folder%/environ}/cmdline" | grep -F ' worker '; } 2>/dev/null || true
  done
}

# expect_left KIND TEXT: the cell that left it says so and is right, the cells behind it are ok and say nothing, no process
# is there any more.
expect_left() {
  must 0 leaving "$1"
  expect_json "$TMP/r.json" "[r['status'] for r in d['results']] == ['ok'] * 3 and '$2' in d['results'][0].get('left', '')
    and not any('left' in r for r in d['results'][1:])"
  [ -z "$(marked)" ] || fail "$1: a process is left: $(marked)"
}

@test "a variant that leaves nothing is charged with nothing" {
  must 0 leaving nothing
  expect_json "$TMP/r.json" 'not any("left" in r for r in d["results"])'
  # The handler was the default, and is again.
  must 0 leaving handler_put_back
  expect_json "$TMP/r.json" 'not any("left" in r for r in d["results"])'
}

@test "threads are charged to the cell that left them" {
  expect_left threads "left 4 threads running"
  expect_left brief_thread "left 1 thread running"
  expect_left writing_thread "left 1 thread running"
}

@test "the cell behind one that left a thread named as the driver's gets another worker" {
  export LEAVES_FILE=$TMP/opened LEAVES_DRIVER=$TMP/libcuda.so.1
  "${CC:-cc}" -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$LEAVES_DRIVER" -x c /dev/null || skip "no C compiler"
  must 0 leaving nothing
  [ "$(wc -c <"$LEAVES_FILE")" -eq 2 ] || fail "$(wc -c <"$LEAVES_FILE") processes opened it" # one of them to describe it
  rm "$LEAVES_FILE"
  must 0 leaving drivers_thread
  [ "$(wc -c <"$LEAVES_FILE")" -eq 3 ] || fail "$(wc -c <"$LEAVES_FILE") processes opened it"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] * 3 and not any("left" in r for r in d["results"])'
}

@test "an object that leaves something when it is opened is opened for its own cells alone" {
  LEAVES_FILE=$TMP/opened expect_left threads_opened "when it was opened: left 4 threads running"
  # To describe it, and for its cell.
  [ "$(wc -c <"$TMP/opened")" -eq 2 ] || fail "$(wc -c <"$TMP/opened") processes opened it"
}

@test "child processes are charged and ended, also those in a session of their own" {
  expect_left child "left 1 child process"
  expect_left stubborn_child "left 1 child process"
  expect_left daemon "child process"
  expect_left child_opened "when it was opened: left 1 child process"
}

@test "hundreds of child processes are charged to the cell that left them, and all of them are ended" {
  expect_left many_children "left at least 64 child processes"
}

# The run is killed while its cell waits, with a child beside it.
@test "what a variant forked ends with a run that is killed" {
  local kind run
  for kind in held_child held_daemon; do
    LEAVES=$kind "$ATTNBENCH" --sweep "$SWEEP" --device cpu --load "$LEAVES_SO" --variants leaves --check-only >"$OUT" 2>"$ERR" &
    run=$!
    for _ in $(seq 500); do
      [ "$kind" = held_child ] && [ "$(marked | wc -l)" -lt 2 ] || [ "$(marked | wc -l)" -lt 1 ] || break
      sleep 0.05
    done
    [ -n "$(marked)" ] || fail "$kind: it does not wait"
    kill -KILL "$run"
    ended "$run" 137
    for _ in $(seq 500); do
      [ -n "$(marked)" ] || break
      sleep 0.05
    done
    [ -z "$(marked)" ] || fail "$kind: a process is left: $(marked)"
  done
}

@test "a copy of the worker ends where it would run the worker's code" {
  expect_left copy "left 1 child process"
  expect_left copy_supports "left 1 child process"
  expect_left copy_opened "when it was opened: left 1 child process"
}

@test "a process beside the worker, which is a child of the run, is charged and ended" {
  expect_left sibling "left 1 process beside its own"
}

@test "what other processes could find is charged, also where it stays" {
  expect_left shared_memory "left 1 System V object (shm, sem, msg), unless another process of this user made it"
  if [ -r /proc/keys ] && kernel_grants 250 219 1 0; then # KEYCTL_JOIN_SESSION_KEYRING
    expect_left kernel_key "left 1 key of the kernel\'s keyrings"
  fi
  if [ -w /dev/mqueue ]; then
    LEAVES_SHARED=/attnbench-leaves.$$ expect_left message_queue "left 1 POSIX message queue, unless another process of this user made it"
  fi
  [ -w /dev/shm ] || skip "no /dev/shm to write to"
  export LEAVES_SHARED=/dev/shm/attnbench-leaves.$$
  expect_left memory_file "left 1 file in /dev/shm"
  export LEAVES_SHARED=/dev/shm/.attnbench-leaves.$$
  expect_left memory_file "left 1 file in /dev/shm"
}

@test "timers are charged, and none goes off in the next cell" {
  expect_left interval_timer "set an interval timer"
  expect_left profile_timer "set an interval timer"
  expect_left thread_timer "left 1 thread running"
  [ -r /proc/self/timers ] || skip "this kernel does not list timers"
  expect_left signal_timer "left 1 timer running"
}

@test "settings are charged" {
  expect_left limit "changed resource limits"
  expect_left mask "changed the signal mask"
  expect_left handler "changed the handler of signal 12"
  expect_left own_handler "changed the handler of signal 12 (leaves.so)"
  expect_left locale "changed the locale"
  expect_left umask "changed the umask"
  expect_left folder "changed the working folder"
  expect_left variable "changed the environment"
  expect_left nice "changed the nice value"
  expect_left outliving "attributes (prctl)"
  if grep -q '^THP_enabled:.*1' /proc/self/status; then expect_left huge_pages "huge pages"; fi
  if [ -w /proc/self/oom_score_adj ] && [ "$(cat /proc/self/oom_score_adj)" -lt 999 ]; then expect_left sacrificed "oom_score_adj"; fi
  if (ulimit -l unlimited) 2>/dev/null; then
    (ulimit -l unlimited && expect_left locked_memory "locked memory (mlockall(MCL_FUTURE))")
  fi
  if kernel_grants 238 237 0 0 0; then expect_left memory_nodes "its memory policy"; fi # set_mempolicy
  [ "$(nproc)" -gt 1 ] || skip "one processor: no affinity to change"
  expect_left affinity "changed the CPU affinity"
}

@test "a changed table of functions is charged, and times by a clock that was changed are no result" {
  case $(uname -m) in x86_64 | aarch64) ;; *) skip "the plug-in knows the relocations of x86-64 and of 64-bit Arm" ;; esac
  expect_left clock "changed the program\'s table of functions"
  LEAVES=clock must 4 attn --sweep "$SWEEP" --device cpu --load "$LEAVES_SO" --variants leaves,cpu_ref --modes steady --reference none \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["error", "ok"]'
  expect_json "$TMP/r.json" '"passed: something in it changed a clock" in d["results"][0]["reason"]'
}

@test "a changed function of the C library is charged where it tells the time" {
  [ "$(uname -m)" = x86_64 ] || skip "the plug-in writes instructions of x86-64"
  expect_left clock_code "changed the code of a function that tells the time or waits"
}

# In a session of its own, whose priority is then a copy of the test's.
@test "the priority of the session is charged and put back" {
  [ -w /proc/self/autogroup ] || skip "this kernel does not group processes by session"
  export LEAVES=session
  capture setsid --wait bash -c '"$@"; code=$?; cat /proc/self/autogroup; exit $code' - "$ATTNBENCH" --sweep "$SWEEP" --device cpu \
    --load "$LEAVES_SO" --variants leaves,cpu_ref --check-only --json "$TMP/r.json"
  [ "$status" = 0 ] || fail "exit $status"
  expect_json "$TMP/r.json" '"changed the priority of its session" in d["results"][0].get("left", "") and "left" not in d["results"][1]'
  grep -q '^/autogroup-[0-9]* nice 0$' "$OUT" || fail "$(tail -n 1 "$OUT")"
}

@test "a run that is stopped while a cell ends accuses nothing in its worker of another clock" {
  local pid
  "$ATTNBENCH" --shape B=1,H=2,S=256,D=64 --device cpu --variants cpu_flash,cpu_ref --json "$TMP/r.json" >"$TMP/out" 2>&1 &
  pid=$!
  sleep 0.5
  kill -STOP "$pid"
  sleep 4
  kill -CONT "$pid"
  wait "$pid" || fail "$(cat "$TMP/out")"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "ok"]'
}

@test "another rounding mode is charged as such, and no input is said to be changed" {
  expect_left rounding "changed the floating-point mode"
  expect_left rounding_supports "changed the floating-point mode"
}

@test "descriptors are charged, and a thread that reads the worker's pipe costs no other cell" {
  expect_left descriptors "left 3 descriptors open"
  expect_left closing "closed 1 descriptor"
  expect_left not_blocking "changed 1 descriptor"
  expect_left thief "left 1 thread running"
}

@test "the table, the CSV and the journal say what was left" {
  export COLUMNS=200
  leaving umask --csv "$TMP/r.csv" --journal "$TMP/j"
  expect_out "left behind: leaves (1 case): changed the umask; its process was ended before the next cell"
  expect_valid results/report.schema.json "$TMP/r.json"
  grep -q 'changed the umask' "$TMP/r.csv"
  must 0 attn report "$TMP/j" --csv "$TMP/again.csv"
  cmp "$TMP/r.csv" "$TMP/again.csv"
}

@test "what a loaded reference leaves is not charged to the row itself" {
  LEAVES=threads must 0 attn --sweep "$SWEEP" --device cpu --load "$LEAVES_SO" --variants cpu_ref --reference leaves --quick \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r.get("left") for r in d["results"]] == ["its reference: left 4 threads running"]'
  [ -z "$(marked)" ] || fail "a process is left: $(marked)"
}
