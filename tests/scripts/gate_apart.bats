# tags: long slow unsanitized
# scripts/gate_apart.sh: what a side of a gate can do to the other one, tried as the author of a pull request who cheats.
# The commands stand for a constructor of the head's program, which can do what they do.
load ../gate/steady

setup() {
  need_steady
  mkdir "$TMP/gate" "$TMP/gate/own" "$TMP/gate/judge" "$TMP/ci"
  SWEEP=$(write_file s.json '{"attnbench_sweep": 1, "name": "steady", "variants": ["steady"],
    "shapes": [{"B": 1, "H": 2, "S": 1, "D": 8}]}')
  cp "$ATTNBENCH" "$TMP/gate/attnbench-base"
  sha256sum "$SWEEP" "$TMP/gate/attnbench-base" >"$TMP/gate/judge/sums"
  export APART_ROOT=$TMP/gate/own APART_HIDDEN=$TMP/gate/judge APART_SUMS=$TMP/gate/judge/sums APART_HOW
  APART_HOW=$(bash scripts/gate_apart.sh --probe)
}
teardown() {
  if [ -s "$TMP/pids" ]; then while read -r pid; do kill -KILL "$pid" 2>/dev/null || true; done <"$TMP/pids"; fi
}
need_namespaces() { [ "$APART_HOW" = namespaces ] || skip "no namespaces here"; }
apart() { capture bash scripts/gate_apart.sh "$@"; }
# Does a process of this machine have the word among its arguments?
runs() { grep -qsF "$1" /proc/[0-9]*/cmdline; }

@test "a side writes into its own folder alone, which goes with it" {
  need_namespaces
  for file in "$TMP/gate/attnbench-base" "$SWEEP" "$TMP/ci/summary" "$ROOT/Makefile" /proc/sys/kernel/panic /proc/irq/default_smp_affinity; do
    apart sh -c 'echo evil >>"$1"' sh "$file"
    [ "$status" -ne 0 ] || fail "$file was written"
  done
  apart sh -c 'mount -o remount,rw / || umount /dev || mv "$1" "$1.away" || rm -rf "$2"/*' sh "$TMP/gate/attnbench-base" "$TMP/gate"
  cmp "$ATTNBENCH" "$TMP/gate/attnbench-base"
  # CUDA does that.
  must 0 apart sh -c 'echo named >/proc/self/comm'
  must 0 apart sh -c 'echo mine >"$HOME/next-round" && echo mine >"$TMPDIR/cache" && ls "$HOME"'
  expect_out next-round
  apart sh -c 'ls -A "$HOME" "$TMPDIR"'
  refute_out next-round
  refute_out cache
  [ -z "$(ls -A "$TMP/gate/own")" ] || fail "a folder stayed"
}

@test "a side sees nothing of the judge's folder, of other processes and of the CI" {
  need_namespaces
  echo secret >"$TMP/gate/judge/first-00-base.journal"
  GITHUB_STEP_SUMMARY=$TMP/ci/summary GITHUB_ENV=$TMP/ci/env LD_PRELOAD='' EVIL=1 must 0 apart sh -c 'env; ls -A "$1"; ls /proc' sh "$TMP/gate/judge"
  refute_out GITHUB
  refute_out LD_PRELOAD
  refute_out EVIL
  refute_out first-00-base
  [ "$(grep -cE '^[0-9]+$' "$OUT")" -le 5 ] || fail "it sees processes: $(cat "$OUT")"
  apart sh -c 'kill -STOP "$1" || renice 19 "$1" || taskset -p 1 "$1"' sh "$$"
  [ "$status" -ne 0 ] || fail "it reached a process of another side"
}

@test "a side cannot lower the share of processor time of the session that it was started in" {
  need_namespaces
  [ -w /proc/self/autogroup ] || skip "this kernel shares no time among sessions"
  capture setsid -w bash -c 'cat /proc/self/autogroup; bash scripts/gate_apart.sh sh -c "echo 19 >/proc/self/autogroup"; cat /proc/self/autogroup'
  [ "$(uniq "$OUT" | wc -l)" -eq 1 ] || fail "$(cat "$OUT")"
}

@test "of hidden folders a side sees itself, the files that its arguments name and its own folder" {
  need_namespaces
  mkdir -p "$TMP/gate/base/build" "$TMP/results"
  echo base >"$TMP/gate/base/build/attnbench"
  cp "$SWEEP" "$TMP/gate/sweep.json"
  cp "$SWEEP" "$TMP/gate/inputs.json"
  touch "$TMP/results/base.json" "$TMP/gate/new.json"
  printf '#!/bin/sh\ncat "$2" "${4#*=}" >/dev/null && ls -A "$5" "$6"; find "$5" "$6"; ls "$HOME"\n' >"$TMP/gate/attnbench-head"
  chmod +x "$TMP/gate/attnbench-head"
  APART_HIDDEN=$TMP/gate$'\n'$TMP/gate/judge$'\n'$TMP/results must 0 apart "$TMP/gate/attnbench-head" --sweep "$TMP/gate/sweep.json" \
    --inputs "--inputs=$TMP/gate/inputs.json" "$TMP/gate" "$TMP/results"
  expect_out attnbench-head sweep.json inputs.json
  refute_out attnbench-base
  refute_out judge
  refute_out build
  refute_out base.json
  refute_out new.json
  # Nor does it from a folder that it stands in.
  cd "$TMP/gate/base"
  APART_HIDDEN=$TMP/gate must 0 capture bash "$ROOT/scripts/gate_apart.sh" ls -AR .
  refute_out attnbench
  cmp "$ATTNBENCH" "$TMP/gate/attnbench-base"
}

@test "no number of a file leads past what is hidden and read-only" {
  need_namespaces
  echo secret >"$TMP/gate/judge/first.journal"
  cat >"$TMP/by_number.py" <<'PY'
import ctypes, os, sys
class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]
libc, handle, mount = ctypes.CDLL(None, use_errno=True), Handle(128), ctypes.c_int()
if sys.argv[1] == "of":
    if libc.name_to_handle_at(-100, os.fsencode(sys.argv[2]), ctypes.byref(handle), ctypes.byref(mount), 0):
        sys.exit("this file system gives no numbers")
    print(handle.size, handle.type, bytes(handle.bytes).hex())
else:
    handle.size, handle.type = int(sys.argv[2]), int(sys.argv[3])
    handle.bytes[:] = bytes.fromhex(sys.argv[4])
    folder = os.open(os.environ["HOME"], os.O_RDONLY)
    for how in os.O_RDONLY, os.O_RDWR:
        if libc.open_by_handle_at(folder, ctypes.byref(handle), how) >= 0:
            print("opened", how)
PY
  python "$TMP/by_number.py" of "$TMP/gate/judge/first.journal" >"$TMP/number" || skip "this file system gives no numbers"
  read -r size type number <"$TMP/number"
  must 0 apart "$ATTN_PYTHON" "$TMP/by_number.py" open "$size" "$type" "$number"
  refute_out opened
}

@test "what its caller has open is closed in a side" {
  for how in none $APART_HOW; do
    : >"$TMP/ci/env"
    # 0, 1, 2, and the folder that ls reads
    APART_HOW=$how apart sh -c 'ls /proc/self/fd; echo evil >&9; echo evil >&3' 3>>"$TMP/ci/env" 9>>"$TMP/ci/env" 55>>"$TMP/ci/env"
    [ "$(grep -c '^[0-9]*$' "$OUT")" -eq 4 ] || fail "open are $(paste -sd' ' "$OUT")"
    [ ! -s "$TMP/ci/env" ] || fail "a file of the job was written"
  done
}

@test "of the devices a side has those of measuring" {
  need_namespaces
  [ "$(id -u)" -eq 0 ] || skip "only root can have a /dev of its own"
  # A /dev with files in the place of a GPU's devices, since few machines that run this have one.
  capture unshare --mount bash -c 'mkdir "$1/dev" && cp -a /dev/{null,zero,full,random,urandom,tty} "$1/dev" &&
    touch "$1/dev/"{nvidia0,nvidiactl,nvidia-uvm,kvm,mem} && mkdir "$1/dev/dri" && ln -s /proc/self/fd "$1/dev/fd" &&
    mount --rbind "$1/dev" /dev && exec bash scripts/gate_apart.sh ls /dev' - "$TMP"
  expect_status 0
  for device in nvidia0 nvidiactl nvidia-uvm dri null urandom; do expect_out_matches "^$device$"; done
  refute_out kvm
  refute_out mem
}

@test "what a side leaves running ends with it, before the other side's turn" {
  need_namespaces
  must 0 apart sh -c 'setsid sh -c "while :; do :; done" burns-on & setsid nohup sleep 4711 >/dev/null 2>&1 & sleep 0.1'
  ! runs burns-on || fail "it burns on"
  ! runs 4711 || fail "it waits on"
}

# A machine that allows no namespaces, with a way to the test's folder for other users.
need_users() {
  local folder=$TMP
  [ "$(id -u)" -eq 0 ] || skip "only root can give a side a user of its own"
  mkdir "$TMP/bin"
  printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/unshare"
  chmod +x "$TMP/bin/unshare"
  PATH=$TMP/bin:$PATH
  while [ "$folder" != / ]; do
    chmod o+x "$folder"
    folder=$(dirname "$folder")
  done
  chmod o+r "$TMP/bin" "$TMP/bin/unshare"
  APART_HOW=$(bash scripts/gate_apart.sh --probe)
  [ "$APART_HOW" = user ] || skip "another user cannot reach this folder"
  apart test -r "$ROOT/scripts/gate_apart.sh" -a -x "$ATTNBENCH"
  [ "$status" -eq 0 ] || skip "another user cannot reach $ROOT"
}
# SIDE_PYTHON: one that another user can run.
need_python_of_users() {
  need_users
  for SIDE_PYTHON in "$ATTN_PYTHON" python3 /usr/bin/python3; do
    apart "$SIDE_PYTHON" -c ''
    [ "$status" -ne 0 ] || return 0
  done
  skip "no python3 here that another user can run"
}

@test "without namespaces a side of root gets a user of its own, who writes its own folder alone and sees its own files of the judge's" {
  need_users
  echo secret >"$TMP/gate/judge/first-00-base.journal"
  cp "$(command -v sh)" "$TMP/gate/attnbench-head"
  export APART_HIDDEN=$TMP/gate
  for file in "$TMP/gate/attnbench-base" "$SWEEP" "$ROOT/Makefile" "$TMP/gate/attnbench-head" /proc/sys/kernel/panic; do
    apart "$TMP/gate/attnbench-head" -c 'echo evil >>"$1"' sh "$file"
    [ "$status" -ne 0 ] || fail "$file was written"
  done
  for file in "$TMP/gate/attnbench-base" "$TMP/gate/judge/first-00-base.journal"; do
    apart "$TMP/gate/attnbench-head" -c 'dd if="$0/$1" count=1' "${file%/*}" "${file##*/}" # no argument names the file
    refute_err 'records out'
  done
  apart "$TMP/gate/attnbench-head" -c 'ls "$0" || ls "$1"' "$TMP/gate/" "$TMP/gate/judge/"
  [ ! -s "$OUT" ] || fail "it saw $(cat "$OUT")"
  must 0 apart "$TMP/gate/attnbench-head" -c 'cat <"$2" && touch "$HOME/own" && echo && id -u' sh --sweep "$SWEEP"
  expect_out '"steady"'
  [ "$(tail -n 1 "$OUT")" -ge 30000 ] || fail "it runs as user $(tail -n 1 "$OUT")"
  [ -z "$(ls -A "$TMP/gate/own")" ] || fail "a folder stayed"
  cmp "$ATTNBENCH" "$TMP/gate/attnbench-base"
}

@test "a side with a user of its own cannot reach other processes, and leaves nothing behind" {
  need_users
  left=$(mktemp -u /tmp/attnbench-left.XXXXXX)
  apart sh -c 'kill -STOP "$1" || renice 19 "$1" || taskset -p 1 "$1"' sh "$$"
  [ "$status" -ne 0 ] || fail "it reached a process of another side"
  must 0 apart sh -c 'setsid sh -c "while :; do :; done" burns-on & setsid nohup sleep 4715 >/dev/null 2>&1 & echo evil >"$1"; sleep 0.1' \
    sh "$left"
  ! runs burns-on || fail "it burns on"
  ! runs 4715 || fail "it waits on"
  [ ! -e "$left" ] || fail "a file stayed"
  must 3 apart sh -c 'echo mine >"$2"; exit 3' sh --journal "$TMP/gate/candidate.journal"
  [ "$(cat "$TMP/gate/candidate.journal")" = mine ]
  killed_takes_along 4716
}

# of_sides: what runs as the user of a side, but for the dead.
of_sides() { ps -eo uid=,stat=,pid=,args= | awk -v word="$1" '$1 >= 30000 && $1 < 60000 && $2 !~ /^Z/ && index($0, word)'; }

@test "a side with a user of its own cannot keep from being ended by killing or stopping whoever has its user, or by forking" {
  need_users
  cat >"$TMP/lasts.c" <<'C'
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
/* lasts SIGNAL HOPS: sends the signal to all processes of its user, as another process each time if there are hops. */
int main(int count, char **argument) {
  const int number = atoi(argument[count - 2]), hops = atoi(argument[count - 1]);
  const time_t end = time(NULL) + 60;
  if (fork()) return 0;
  setsid();
  if (fork()) return 0;
  for (usleep(3000); time(NULL) < end;) {
    kill(-1, number);
    if (hops && fork() > 0) _exit(0);
  }
}
C
  cc -o "$TMP/lasts-as-a-user" "$TMP/lasts.c"
  for how in '9 0' '9 1' '19 1' '19 0' '19 0' '19 0' '19 0' '19 0' '19 0'; do
    # shellcheck disable=SC2086
    must 0 apart "$TMP/lasts-as-a-user" $how
    [ -z "$(of_sides lasts-as-a-user)" ] || { of_sides lasts-as-a-user | awk '{ print $3 }' >"$TMP/pids" && fail "$how runs on"; }
  done
}

@test "a side with a user of its own leaves no shared memory, no queue and no file, and cannot lower its session's share" {
  need_users
  local left=left-by-a-side-$$
  must 0 apart sh -c 'ipcmk -M 4096 -p 0666 && ipcmk -Q -p 0666 && ipcmk -S 1 -p 0666 && ulimit -c && touch "/dev/shm/$1" && id -u; touch "/run/lock/$1"; :' \
    sh "$left"
  local user core
  { read -r core && read -r user; } < <(tail -n 2 "$OUT")
  ! awk -v user="$user" '$0 ~ "(^| )" user "( |$)"' /proc/sysvipc/* | grep . || fail "it left shared memory or a queue"
  if [ -e "/dev/shm/$left" ] || [ -e "/run/lock/$left" ]; then rm -f "/dev/shm/$left" "/run/lock/$left" && fail "a file stayed"; fi
  [ "$core" = 0 ] || fail "it may leave a core: $core"
  [ -w /proc/self/autogroup ] || return 0
  capture setsid -w bash -c 'cat /proc/self/autogroup; bash scripts/gate_apart.sh sh -c "echo 19 >/proc/self/autogroup"; cat /proc/self/autogroup'
  [ "$(uniq "$OUT" | wc -l)" -eq 1 ] || fail "$(cat "$OUT")"
}

@test "what a side with a user of its own left cannot read the variables of the job in the process that ends it" {
  need_python_of_users
  cat >"$TMP/reads.py" <<'PY'
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
end = time.time() + 30
while time.time() < end:
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                if b"OF_THE_JOB" in file.read():
                    open(sys.argv[1], "a").write(process)
        except OSError:
            pass
PY
  touch "$TMP/ci/read"
  chmod 666 "$TMP/ci/read" "$TMP/reads.py"
  for _ in 1 2 3 4 5 6 7 8; do
    OF_THE_JOB=secret must 0 apart "$SIDE_PYTHON" "$TMP/reads.py" "$TMP/ci/read"
    [ ! -s "$TMP/ci/read" ] || fail "it read them"
  done
}

@test "whoever is killed or stopped takes along what a side with a user of its own left in the background" {
  need_users
  in_background() { ps -eo pid=,args= | awk '$2 == "sleep" && $3 == 4717 { print $1 }'; }
  for signal in KILL TERM; do
    bash scripts/gate_apart.sh sh -c 'setsid nohup sleep 4717 >/dev/null 2>&1 & exec sleep 4718' &
    local gate=$!
    for _ in $(seq 500); do
      [ -z "$(in_background)" ] || break
      sleep 0.05
    done
    [ -n "$(in_background)" ] || fail "it did not start"
    kill "-$signal" "$gate"
    for _ in $(seq 200); do
      [ -n "$(in_background)" ] || break
      sleep 0.05
    done
    in_background >"$TMP/pids"
    [ ! -s "$TMP/pids" ] || fail "it runs on after $signal"
  done
}

@test "a folder of any name is a side's own, and goes" {
  need_users
  for name in 'a [1]*?' "it's" '$(touch x)"'; do
    mkdir "$TMP/gate/$name"
    APART_ROOT="$TMP/gate/$name" must 0 apart sh -c 'echo mine >"$2"' sh --journal "$TMP/gate/candidate.journal"
    [ "$(cat "$TMP/gate/candidate.journal")" = mine ] || fail "no journal of $name"
    [ -z "$(ls -A "$TMP/gate/$name")" ] || fail "the folder of $name stayed"
    rm "$TMP/gate/candidate.journal"
  done
}

@test "a comparison whose sides have users of their own finds a slower candidate" {
  need_users
  judged "$TMP/gate/attnbench-base"
  [ "$status" -eq 5 ] || expect_status 0 # 5: undecided on a busy machine
  must 1 judged "$(program slower "STEADY_US=6000 exec \"$ATTNBENCH\" \"\$@\"")"
  expect_out regressed
}

# killed_takes_along WORD: a script that runs `sleep WORD` and is killed.
killed_takes_along() {
  bash scripts/gate_apart.sh sleep "$1" &
  local gate=$!
  echo "$gate" >"$TMP/pids"
  for _ in $(seq 500); do
    ! runs "$1" || break
    sleep 0.05
  done
  runs "$1" || fail "it did not start"
  kill -KILL "$gate"
  for _ in $(seq 500); do
    runs "$1" || return 0
    sleep 0.05
  done
  fail "it runs on"
}

@test "whoever is stopped takes its side along" {
  need_namespaces
  killed_takes_along 4712
}

@test "whoever is stopped takes its program along where there are no namespaces, too" {
  command -v setpriv >/dev/null || skip "setpriv is not installed"
  APART_HOW=none killed_takes_along 4714
}

@test "a journal that is no file of its own is none" {
  : >"$TMP/gate/base.journal"
  apart sh -c 'ln -s "$1" "$3"' sh "$TMP/gate/base.journal" --journal "$TMP/gate/candidate.journal"
  [ ! -e "$TMP/gate/candidate.journal" ] || fail "it is another's"
  apart sh -c 'echo secret >"$HOME/other" && ln "$HOME/other" "$2"' sh --journal "$TMP/gate/candidate.journal"
  [ ! -e "$TMP/gate/candidate.journal" ] || fail "it has another name"
  must 0 apart sh -c 'echo mine >"$2"' sh --journal "$TMP/gate/candidate.journal"
  [ ! -L "$TMP/gate/candidate.journal" ]
  [ "$(cat "$TMP/gate/candidate.journal")" = mine ]
}

@test "where there are no namespaces, a file that changes ends the gate with 6, and the environment is the same" {
  APART_HOW=none
  must 4 apart sh -c 'exit 4'
  GITHUB_ENV=$TMP/ci/env apart env
  refute_out GITHUB
  must 6 apart sh -c 'echo evil >>"$1"' sh "$TMP/gate/attnbench-base"
  expect_err 'changed while this process ran'
  must 6 apart true
  expect_err 'changed before this process began'
}

# judged CANDIDATE: the comparison as gate_ci.sh makes it, by a judge whose folder the sides do not see. The threshold is far
# above what other load on this machine does to a time, and far below what the candidates here do.
judged() {
  decided capture env TMPDIR="$TMP/gate/judge" APART_PASS=STEADY_US "$ATTNBENCH" ab --start-with scripts/gate_apart.sh \
    --base "$TMP/gate/attnbench-base" --candidate "$1" --sweep "$SWEEP" --device cpu --load "$STEADY" "${COMMON[@]}" --threshold 50
}

@test "a candidate that slows the base down is found slower, or is not judged" {
  judged "$TMP/gate/attnbench-base"
  [ "$status" -eq 5 ] || expect_status 0 # 5: undecided on a busy machine
  slower="STEADY_US=6000 exec \"$ATTNBENCH\" \"\$@\""
  candidate=$(program evil "{ cp \"$(takes 9000)\" \"$TMP/gate/attnbench-base\"; setsid sh -c 'while :; do :; done' & } 2>/dev/null; $slower")
  if [ "$APART_HOW" = namespaces ]; then
    must 1 judged "$candidate"
    expect_out regressed
    cmp "$ATTNBENCH" "$TMP/gate/attnbench-base"
  fi
  APART_HOW=none
  candidate=$(program evil "cp \"$(takes 9000)\" \"$TMP/gate/new\" && mv \"$TMP/gate/new\" \"$TMP/gate/attnbench-base\"; $slower")
  must 6 judged "$candidate"
  expect_err 'changed while this process ran'
}

@test "a candidate whose processes say what its author likes is not judged" {
  candidate=$(program halves "LD_PRELOAD='$(dirname "$STEADY")/half_clock.so' STEADY_US=60000 exec \"$ATTNBENCH\" \"\$@\"")
  must 6 judged "$candidate"
  expect_out 'growth of the journals'
  candidate=$(program empty 'exit 0')
  must 6 judged "$candidate"
  expect_err 'left no readable journal'
}
