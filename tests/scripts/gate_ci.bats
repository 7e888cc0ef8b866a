# tags: long unsanitized
# scripts/gate_ci.sh in a repository of its own, whose "attnbench" is a script that writes down how it was called and
# ends as it is told.
load ../helper

# The repository, made once and copied for each test.
setup_file() {
  command -v git >/dev/null || return 0
  MADE=$(file_folder)/repo
  export MADE
  REPO=$MADE
  mkdir -p "$REPO/scripts" "$REPO/shapes"
  cp scripts/gate_ci.sh scripts/gate_apart.sh "$REPO/scripts"
  echo '{}' >"$REPO/shapes/gate.json"
  cat >"$REPO/Makefile" <<'MAKE'
all:
	@test ! -e broken
	@sed "s/@version@/$$(cat version)/; s/@old@/$$(ls old 2>&1)/" program >attnbench && chmod +x attnbench
MAKE
  cat >"$REPO/program" <<'PROGRAM'
#!/usr/bin/env bash
if [ "$1" = --help ]; then
  [ "@old@" = old ] || echo "  --rounds N  fresh processes,  --start-with PROGRAM "
  printf '%200000s\n' "more than a pipe holds" # to whoever reads to the end
  exit
fi
[ "$1" != --version ] || exec echo @version@
[ "$1" != plan ] || exit 0
# Who waits for the first line may stop this at once.
[ -z "${HANG:-}" ] || trap 'echo stopped >>"$CALLS"; exit 1' TERM
printf '%s\n' "$*" >>"$CALLS"
echo "judged by @version@" >>"$CALLS.judges"
[ -z "${HANG:-}" ] || while :; do sleep 0.05; done
while [ $# -gt 0 ]; do
  if [ "$1" = --markdown ]; then echo "summary of this gate" >"$2"; fi
  if [ "$1" = --base ]; then "$2" --version >>"$CALLS"; fi
  shift
done
exit "${ANSWER:-0}"
PROGRAM
  chmod +x "$REPO/program"
  printf 'build/\nattnbench\n' >"$REPO/.gitignore"
  git -C "$REPO" init -q
  echo base >"$REPO/version"
  commit
  echo head >"$REPO/version"
  commit
}

setup() {
  need_git
  REPO=$TMP/repo
  cp -r "$MADE" "$REPO"
  mkdir "$TMP/bin"
  printf '#!/bin/sh\n[ "$1" = -L ] && echo "GPU 0: NVIDIA H200" || echo "NVIDIA H200"\n' >"$TMP/bin/nvidia-smi"
  chmod +x "$TMP/bin/nvidia-smi"
  export PATH=$TMP/bin:$PATH CALLS=$TMP/calls
  unset BASE_REF GITHUB_BASE_REF GITHUB_STEP_SUMMARY GITHUB_ACTIONS MAKEFLAGS MAKELEVEL
}

commit() {
  git -C "$REPO" add -A
  git -C "$REPO" -c user.name=test -c user.email=test@example.com commit -q -m "$(cat "$REPO/version")"
}

gate() { capture "$REPO/scripts/gate_ci.sh" "$@"; }

@test "base and head are built and measured in turns, and nothing of the base stays" {
  must 0 gate
  [ "$(sed -n '1s/\.work\.[^/]*/WORK/g;1s/--seed [0-9]*$/--seed N/p' "$CALLS")" = "ab --base build/gate/attnbench-base --candidate \
build/gate/attnbench-head --base-json build/gate/base.json --json build/gate/new.json --start-with \
$REPO/build/gate/WORK/gate_apart.sh --sweep build/gate/sweep.json --compare-json build/gate/gate.json --markdown $REPO/build/gate/WORK/gate.md --junit build/gate/gate.xml --annotations - --device cuda --seed N" ] ||
    fail "$(cat "$CALLS")"
  [ "$(sed -n 2p "$CALLS")" = base ] || fail "the base is not the revision before"
  [ -z "$(ls -d "$REPO"/build/gate/.work.* 2>/dev/null)" ] || fail "the worktree is still there"
  [ "$(sort -u "$CALLS.judges")" = "judged by base" ] || fail "the change judged itself"
  [ "$(git -C "$REPO" worktree list | wc -l)" -eq 1 ]
  [ "$("$REPO/build/gate/attnbench-head" --version)" = head ] || fail "the head is not the revision that is checked out"
  must 0 gate
}

@test "the exit code of the gate is the job's" {
  for code in 1 4 6 77; do
    ANSWER=$code gate
    expect_status "$code"
  done
}

@test "the base is the one asked for, the pull request's or the commit before" {
  git -C "$REPO" branch -q side HEAD^
  git -C "$REPO" update-ref refs/remotes/origin/trunk HEAD
  gate --base side
  [ "$(tail -n 1 "$CALLS")" = base ] || fail "--base"
  GITHUB_BASE_REF=trunk gate
  [ "$(tail -n 1 "$CALLS")" = head ] || fail "GITHUB_BASE_REF"
  BASE_REF=side GITHUB_BASE_REF=trunk gate
  [ "$(tail -n 1 "$CALLS")" = base ] || fail "BASE_REF"
}

@test "a name of several revisions is no base: whoever may push a tag would choose it" {
  local base head
  base=$(git -C "$REPO" rev-parse HEAD^) head=$(git -C "$REPO" rev-parse HEAD)
  git -C "$REPO" update-ref refs/remotes/origin/trunk "$base"
  git -C "$REPO" tag origin/trunk "$head"
  must 6 gate --base origin/trunk
  expect_err 'base origin/trunk is the name of several revisions'
  [ ! -e "$CALLS" ] || fail "something was measured"
  # What the CI names is the branch, whatever tags there are.
  GITHUB_BASE_REF=trunk must 0 gate
  [ "$(tail -n 1 "$CALLS")" = base ] || fail "measured against $(tail -n 1 "$CALLS")"
  must 0 gate --base refs/remotes/origin/trunk
  git -C "$REPO" tag -f origin/trunk "$base"
  must 0 gate --base origin/trunk
  # Nor does an object in the place of another.
  git -C "$REPO" replace "$base" "$head"
  rm "$CALLS"
  must 0 gate --base "$base"
  [ "$(tail -n 1 "$CALLS")" = base ] || fail "measured against $(tail -n 1 "$CALLS")"
}

@test "the inputs of a gate are drawn after the head was built, unless the job names them" {
  must 0 gate
  must 0 gate
  [ "$(grep -o -e '--seed [0-9]*' "$CALLS" | sort -u | wc -l)" -eq 2 ] || fail "$(cat "$CALLS")"
  rm "$CALLS"
  must 0 gate -- --seed 7
  [ "$(grep -o -e '--seed [0-9]*' "$CALLS")" = "--seed 7" ] || fail "$(cat "$CALLS")"
}

@test "options behind -- are passed on, and the sweep is the one named" {
  echo '{"other": 1}' >"$REPO/shapes/other.json"
  echo both >"$REPO/version"
  commit
  echo more >"$REPO/version"
  commit
  must 0 gate --sweep shapes/other.json --out build/elsewhere -- --threshold 3 --noise=warn
  grep -q -e '--sweep build/elsewhere/sweep.json .*--annotations - --threshold 3 --noise=warn --device cuda --seed [0-9]*$' "$CALLS" || fail "$(cat "$CALLS")"
  [ "$(cat "$REPO/build/elsewhere/sweep.json")" = '{"other": 1}' ]
  [ -e "$REPO/build/elsewhere/gate.md" ]
}

@test "the summary is appended to what the step has written" {
  echo "written before" >"$TMP/summary"
  GITHUB_STEP_SUMMARY=$TMP/summary ANSWER=1 must 1 gate
  [ "$(head -n 1 "$TMP/summary")" = "written before" ]
  grep -q "^attnbench gate: head $(git -C "$REPO" rev-parse --short=12 HEAD) against .*, exit code 1$" "$TMP/summary" ||
    fail "$(cat "$TMP/summary")"
  [ "$(tail -n 1 "$TMP/summary")" = "summary of this gate" ]
}

@test "without a base or an anchor that can be resolved, built and measured nothing is judged, and nothing of the head ran" {
  printf 'all:\n\ttouch %s\n' "$TMP/ran" >"$REPO/Makefile"
  commit
  for base in no-such-branch HEAD~9 --help; do
    must 6 gate --base "$base"
    expect_err "base $base is no revision of this clone"
  done
  BASE_REF=nosuch must 6 gate
  expect_err 'nosuch is no revision'
  GITHUB_BASE_REF=nosuch must 6 gate
  expect_err 'nosuch'
  must 6 gate --base HEAD^ --anchor nowhere
  expect_err 'anchor nowhere is no revision'
  for flaw in broken:'does not build' old:'too old'; do
    git -C "$REPO" checkout -q -B "with-${flaw%%:*}" HEAD^
    touch "$REPO/${flaw%%:*}"
    commit
    printf 'all:\n\ttouch %s\n' "$TMP/ran" >"$REPO/Makefile"
    commit
    must 6 gate
    expect_err "${flaw#*:}"
    [ "${flaw%%:*}" != old ] || grep -q 'too old to judge.*let it judge: HEAD/attnbench ab --base' "$REPO/build/gate/gate.md" || fail "gate.md does not say what to do"
    git -C "$REPO" checkout -q -f HEAD^^
  done
  [ ! -e "$CALLS" ] || fail "something was measured"
  [ ! -e "$TMP/ran" ] || fail "the head's Makefile was run"
}

@test "a gate that is stopped leaves nothing that measures" {
  for signal in INT:130 TERM:143; do
    rm -f "$CALLS"
    HANG=1 env --default-signal=INT "$REPO/scripts/gate_ci.sh" >"$OUT" 2>"$ERR" &
    local run=$!
    for _ in $(seq 300); do
      [ ! -s "$CALLS" ] || break
      sleep 0.05
    done
    kill "-${signal%:*}" "$run"
    ended "$run" "${signal#*:}"
    [ "$(tail -n 1 "$CALLS")" = stopped ] || fail "it was left measuring: $(cat "$CALLS")"
    [ -z "$(ls -d "$REPO"/build/gate/.work.* 2>/dev/null)" ] || fail "the worktree is still there"
  done
}

# still_there: whether anything runs that was started with this test's mark.
still_there() { grep -qsazF "GATE_TEST_MARK=$TMP" /proc/[0-9]*/environ; }

@test "a gate that is killed leaves nothing that measures" {
  command -v setpriv >/dev/null || skip "setpriv is not installed"
  GATE_TEST_MARK=$TMP HANG=1 "$REPO/scripts/gate_ci.sh" >"$OUT" 2>"$ERR" &
  local run=$!
  for _ in $(seq 500); do
    [ ! -s "$CALLS" ] || break
    sleep 0.05
  done
  [ -s "$CALLS" ] || fail "it does not measure"
  kill -KILL "$run"
  ended "$run" 137
  for _ in $(seq 500); do
    still_there || return 0
    sleep 0.05
  done
  fail "it is left measuring: $(grep -lsazF "GATE_TEST_MARK=$TMP" /proc/[0-9]*/environ)"
}

@test "a folder that cannot be made is an output that cannot be written, not a slower case" {
  must 8 gate --out Makefile/below
  [ ! -e "$CALLS" ] || fail "something was measured"
}

@test "a head that does not build is told from a slow one" {
  touch "$REPO/broken"
  commit
  must 9 gate
  expect_err 'the head '
  expect_err 'does not build'
}

@test "without a GPU the job ends with 77, or with 0 when that is asked for" {
  compgen -G '/dev/nvidia[0-9]*' >/dev/null && skip "there is a GPU here"
  printf '#!/bin/sh\nexit 9\n' >"$TMP/bin/nvidia-smi"
  must 77 gate
  expect_err 'no GPU here'
  must 0 gate --skip-without-gpu
  expect_out '::notice'
  [ ! -e "$CALLS" ] || fail "something was measured"
  must 0 gate -- --device cpu
  grep -q -e '--device cpu --seed [0-9]*$' "$CALLS" || fail "$(cat "$CALLS")"
}

@test "the command line of the job is checked" {
  must 2 gate --sweeps x
  expect_err '--sweeps is not understood'
  must 2 gate --base
  expect_err '--base needs a value'
  must 0 gate --help
  expect_out '--anchor REF           also compare'
  refute_out '#!/'
}

# ---- a pull request must not steer its own gate -------------------------------------------------------------------

@test "a changed sweep is shown, the base's is measured, and the gate fails unless the job allows it" {
  echo '{"fewer": "cases"}' >"$REPO/shapes/gate.json"
  commit
  must 4 gate
  expect_err '+{"fewer": "cases"}'
  expect_out '::error'
  [ "$(cat "$REPO/build/gate/sweep.json")" = '{}' ]
  ANSWER=3 must 3 gate
  rm "$CALLS"
  must 0 gate --allow-sweep-change
  [ "$(cat "$REPO/build/gate/sweep.json")" = '{"fewer": "cases"}' ]
  expect_out '::warning title=attnbench::the change alters shapes/gate.json'
  GATE_ALLOW_SWEEP_CHANGE=1 must 0 gate
}

@test "a sweep that the base does not have fails unless the job allows it" {
  echo '{}' >"$REPO/shapes/mine.json"
  commit
  must 4 gate --sweep shapes/mine.json
  [ ! -e "$CALLS" ] || fail "something was measured"
  must 0 gate --sweep shapes/mine.json --allow-sweep-change
}

@test "every file of a change that could steer the gate is told of, in the log, the annotations and the verdict" {
  local file steering='cli/measure/timer.c cli/base/stats.c kernels/pattern.h GNUmakefile .gitattributes .github/workflows/gate.yml
    tests/faults.def tests/faults/mine.c tests/slowed/slowed.def tests/emulated/cuda.cuh'
  for file in $steering kernels/variants/mine.c kernels/tiles/mine.cuh tests/mine.bats NOTES.md; do
    mkdir -p "$REPO/$(dirname "$file")"
    echo 'include Makefile' >"$REPO/$file"
  done
  echo '* text' >"$REPO/.gitattributes"
  echo next >"$REPO/version"
  commit
  must 0 gate
  for file in $steering; do
    grep -q "^::warning .*touches what measures.* $file" <(sed 's/: / /g' "$OUT") || fail "no warning of $file"
    grep -qF "  - `$file`" "$REPO/build/gate/gate.md" || fail "$file is not in gate.md"
    expect_err "$file"
  done
  expect_out '::notice title=attnbench::variants that this change touches: kernels/variants/mine.c'
  expect_out '::notice title=attnbench::this change touches what several variants share: kernels/tiles/mine.cuh'
  refute_out tests/mine.bats
  refute_out NOTES.md
}

@test "names of a change that a shell or make could run are told of, and no others" {
  local file
  mkdir -p "$REPO/tests/faults" "$REPO/tests/a b"
  for file in 'faults/x;cd${IFS}tests;sh${IFS}evil.sh;cd${IFS}-;.c' 'faults/-rf.c' 'a b/c.c' 'faults/`x`.c' "faults/q'.c" $'faults/\xc3\xa4.c' 'faults/plain-1_2.c++@a,b=c'; do
    touch "$REPO/tests/$file"
  done
  commit
  must 0 gate
  grep '^::warning .*characters that a shell or make may run' "$OUT" >"$TMP/warned" || fail "no warning"
  for file in 'x;cd${IFS}tests;sh${IFS}evil.sh;cd${IFS}-;.c' '-rf.c' 'a b/c.c' "'x'.c" "q'.c" '\303\244.c'; do
    grep -qF -e "$file" "$TMP/warned" || fail "$file is not named"
    grep -qF -e "$file" "$REPO/build/gate/gate.md" || fail "$file is not in gate.md"
  done
  ! grep -q 'plain-1' "$TMP/warned" || fail "a plain name is told of"
}

@test "what hides a change from who reads it is told of" {
  mkdir -p "$REPO/kernels/variants" "$REPO/tests/data"
  echo '*.c -diff' >"$REPO/kernels/variants/.gitattributes"
  echo '*.c -diff' >"$REPO/tests/data/.gitattributes"
  echo 'int x;' >"$REPO/tests/data/x.txt"
  ln -s ../../tests/data/x.txt "$REPO/kernels/variants/x.c"
  printf 'int plain;\n/* \xe2\x80\xae } \xe2\x81\xa6 */\n' >"$REPO/kernels/variants/turned.c"
  printf 'int \xc3\xa4rger; /* \xe2\x80\x93 */\n' >"$REPO/kernels/variants/plain.c"
  echo next >"$REPO/version"
  commit
  must 0 gate
  expect_out_matches '^::warning .*touches what measures.*: kernels/variants/.gitattributes tests/data/.gitattributes version$'
  expect_out_matches '^::warning .*this change has links.*: kernels/variants/x.c$'
  expect_out_matches '^::warning .*change its order on the page: kernels/variants/turned.c$'
  grep -q 'this change has links' "$REPO/build/gate/gate.md" || fail "gate.md does not say so"
}

@test "the Makefile runs no name of a source" {
  local name
  mkdir -p "$TMP/tree/tests/faults" "$TMP/tree/tests/slowed"
  cp Makefile "$TMP/tree"
  touch "$TMP/tree/tests/faults/plain-1_2.c" "$TMP/tree/tests/slowed/slowed.def"
  must 0 capture make -s -C "$TMP/tree" CUDA=0 print-FAULT_SOURCES
  expect_out tests/faults/plain-1_2.c
  for name in 'x;touch${IFS}ran;.c' 'x y.c' 'x$(shell touch ran).c' "x'.c" 'x#.c'; do
    touch "$TMP/tree/tests/faults/$name"
    must 2 capture make -C "$TMP/tree" CUDA=0 features
    expect_err 'names of sources may have'
    rm "$TMP/tree/tests/faults/$name"
  done
  echo 'VARIANT(x;touch ran)' >"$TMP/tree/tests/slowed/slowed.def"
  must 2 capture make -C "$TMP/tree" CUDA=0 features
  expect_err 'tests/slowed/x;touch'
  [ ! -e "$TMP/tree/ran" ] || fail "a name was run"
}

@test "a submodule that asks to be left out is told of" {
  printf '[submodule "lib"]\n\tpath = cli/lib\n\turl = ./lib\n\tignore = all\n' >"$REPO/.gitmodules"
  git -C "$REPO" update-index --add --cacheinfo "160000,$(git -C "$REPO" rev-parse HEAD),cli/lib"
  mkdir -p "$REPO/cli/lib"
  commit
  git -C "$REPO" update-index --cacheinfo "160000,$(git -C "$REPO" rev-parse HEAD),cli/lib"
  echo next >"$REPO/version"
  commit
  must 0 gate
  expect_out_matches '^::warning .*touches what measures.*: cli/lib version$'
}

@test "rows that moved stand beside the files that changed, and those whose file did not change are a warning" {
  export COMPARED=$REPO/compared
  cp tests/data/compare_mixed.json "$COMPARED"
  sed -i '/"$1" = --markdown/a if [ "$1" = --compare-json ]; then cp "$COMPARED" "$2"; fi' "$REPO/program"
  commit
  mkdir -p "$REPO/kernels/variants"
  touch "$REPO/kernels/variants/cp_async.cu" "$REPO/kernels/variants/split.cu"
  echo next >"$REPO/version"
  commit
  must 0 gate
  expect_out_matches '^::notice .*rows that moved, with the file of their variant: B1[^ ]* cp_async:stages=3 hot: regressed \+3\.1 %25$'
  grep '^::warning .*though the file of their variant did not change' "$OUT" >"$TMP/warned" || fail "no warning"
  for row in 'split_kv hot: improved -11.3 %' 'wmma hot: wrong' 'serial cold: missing' 'd_split hot: added'; do
    grep -qF "$row" "$TMP/warned" || fail "the warning lacks $row"
    grep -qF "$row" "$REPO/build/gate/gate.md" || fail "gate.md lacks $row"
  done
  [ "$(grep -oE ' (hot|cold): ' "$TMP/warned" | wc -l)" -eq 4 ] || fail "$(cat "$TMP/warned")"
}

@test "a program that was built from other sources than the head's is told of" {
  export NEW_JSON=$TMP/new.json
  sed -i '/"$1" = --markdown/a if [ "$1" = --json ]; then cp "$NEW_JSON" "$2"; fi' "$REPO/program"
  commit
  echo next >"$REPO/version"
  commit
  head=$(git -C "$REPO" rev-parse --short HEAD)
  for said in "$head" "$head+dirty" abcdef0; do
    printf '\t\t"git_commit":\t"%s",\n' "$said" >"$NEW_JSON"
    must 0 gate
    if [ "$said" = "$head" ]; then
      refute_out 'was built from'
    else
      expect_out "::warning title=attnbench::the head's program says that it was built from $said, not"
      grep -qF "$said" "$REPO/build/gate/gate.md"
    fi
  done
}

@test "a head that is the base's program is not compared with itself" {
  without_users # there its build cannot read that program
  mkdir -p "$REPO/kernels/variants"
  touch "$REPO/kernels/variants/mine.c"
  printf 'all:\n\tcp -L %s attnbench\n' ../../../attnbench-base >"$REPO/Makefile"
  commit
  must 6 gate
  expect_out '::error title=attnbench::the head'
  grep -q 'byte for byte' "$REPO/build/gate/gate.md"
  [ ! -e "$CALLS" ] || fail "something was measured"
}

# compiled: the program becomes one in C that asks for the time, and then what it was before.
compiled() {
  export FAKE=$TMP/fake
  sed 's/@version@/$VERSION/' "$REPO/program" >"$FAKE"
  chmod +x "$FAKE"
  mkdir -p "$REPO/kernels/variants"
  echo 'int idle;' >"$REPO/kernels/variants/cpu_flash.c"
  cat >"$REPO/main.c" <<'MAIN'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **argument) {
  struct timespec now;
  return count + clock_gettime(CLOCK_MONOTONIC, &now) + setenv("VERSION", VERSION, 1) + execv(getenv("FAKE"), argument);
}
MAIN
  cat >"$REPO/Makefile" <<'MAKE'
all:
	cc -DVERSION='"$(shell cat version)"' -o attnbench main.c kernels/variants/cpu_flash.c $(MORE)
MAKE
  commit
  echo next >"$REPO/version"
}

# refused WORD...: the gate ended before anything was measured, and every word is in the annotation and in gate.md.
refused() {
  local word
  expect_status 6
  [ ! -e "$CALLS" ] || fail "something was measured"
  for word in "$@"; do
    grep -q "^::error .*$word" "$OUT" || fail "no annotation of $word"
    grep -q "$word" "$REPO/build/gate/gate.md" || fail "$word is not in gate.md"
  done
}

@test "a head with a clock of its own is not judged, and the clock is named" {
  local clock='#include <time.h>
    int clock_gettime(clockid_t clock, struct timespec *now) { (void)clock; now->tv_sec = now->tv_nsec = 0; return 0; }'
  compiled
  commit
  must 0 gate
  refute_out '::error'
  rm "$CALLS"
  echo "$clock" >"$REPO/kernels/variants/cpu_flash.c"
  commit
  gate --base HEAD~2
  refused 'has clock_gettime of'
  printf '\nMORE = -s\n' >>"$REPO/Makefile"
  commit
  gate --base HEAD~3
  refused clock_gettime
}

@test "a head with functions of its own that time a GPU is not judged, and they are named" {
  compiled
  commit
  local name base
  base=$(git -C "$REPO" rev-parse HEAD)
  for name in cudaEventElapsedTime cuEventRecord cudaGraphLaunch nvmlDeviceGetTotalEnergyConsumption; do
    printf 'int %s(float *ms) { return (int)(*ms = 1); }\n' "$name" >"$REPO/kernels/variants/cpu_flash.c"
    commit
    gate --base "$base"
    refused "has $name of"
  done
}

@test "a head that hides a clock in a library, or is a script that preloads one, is not judged" {
  compiled
  cat >>"$REPO/Makefile" <<'MAKE'
MORE = -L. -levil '-Wl,-rpath,$(CURDIR)'
all: libevil.so
libevil.so: evil.c
	cc -shared -fPIC -o $@ $^
MAKE
  echo 'int clock_gettime(int clock, long *now) { return clock + (int)(now[0] = now[1] = 0); }' >"$REPO/evil.c"
  commit
  gate
  refused 'NEEDED.*libevil.so' RUNPATH
  git -C "$REPO" checkout -q HEAD^ -- Makefile
  printf '\tmv attnbench real\n\tprintf "#!/bin/sh\\nLD_PRELOAD=%%s exec %%s\\n" libevil.so real >attnbench\n\tchmod +x attnbench\n' >>"$REPO/Makefile"
  commit
  gate --base HEAD~2
  refused 'imports clock_gettime'
}

# warned_of CODE WORD...: such a variant is a warning, in the annotations and in gate.md, that has every word.
warned_of() {
  local word
  printf '%s\n' "$1" >"$REPO/kernels/variants/cpu_flash.c"
  commit
  must 0 gate --base "$BASE"
  for word in "${@:2}"; do
    grep -q "^::warning title=attnbench::the head.*$word" "$OUT" || fail "no warning of $word"
    grep -q "$word" "$REPO/build/gate/gate.md" || fail "$word is not in gate.md"
  done
}
not_warned_of() {
  warned_of "$1"
  ! grep '^::warning title=attnbench::the head.s program' "$OUT" || fail "a false alarm"
}

@test "what runs before main or after it is told of" {
  compiled
  BASE=$(git -C "$REPO" rev-parse HEAD)
  not_warned_of 'int more(void) { return 1; }'
  warned_of '__attribute__((constructor)) static void early(void) {}' INIT_ARRAYSZ
  warned_of '__attribute__((destructor)) static void late(void) {}' FINI_ARRAYSZ
  warned_of '__asm__(".section .init\n nop\n nop\n nop\n nop\n .text");' '\.init of 0x'
  warned_of '__asm__(".section .fini\n nop\n nop\n nop\n nop\n .text");' '\.fini of 0x'
  local chosen='static int one(void) { return 1; }
    static int (*choose(void))(void) { return one; }
    int chosen(void) __attribute__((ifunc("choose")));
    int uses(void) { return chosen(); }'
  cc -c -o "$TMP/chosen.o" -x c - <<<"$chosen" 2>/dev/null || skip "no functions that choose themselves here"
  warned_of "$chosen" 'IRELATIVE: ' 'IFUNC chosen'
}

@test "a function of the change in the place of a library's is told of, and so is an import that is gone" {
  compiled
  BASE=$(git -C "$REPO" rev-parse HEAD)
  not_warned_of 'int more(void) { return 1; }
    static int toupper(int letter) { return letter; }
    int less(void) { return toupper(2); }'
  local own='int setenv(const char *name, const char *value, int over) { return (int)(*name + *value + over) * 0; }'
  warned_of "$own" 'has setenv of' 'lacks setenv'
  warned_of "__attribute__((visibility(\"hidden\"))) $own" 'has setenv of' 'lacks setenv'
  warned_of "__attribute__((weak)) $own" 'has setenv of'
  warned_of "static $own int more(void) { return setenv(\"a\", \"b\", 1); }" 'has setenv of'
  refute_out 'lacks setenv'
  sed -i 's/ + setenv("VERSION", VERSION, 1)//' "$REPO/main.c"
  warned_of 'int idle;' 'lacks setenv'
  refute_out 'has setenv'
  printf '\nMORE = -s\n' >>"$REPO/Makefile"
  warned_of 'int idle;' 'lacks a table of symbols'
}

@test "a library that takes over what the base's program takes from another, or what its libraries take, is told of" {
  compiled
  mkdir "$TMP/lib"
  export LD_LIBRARY_PATH=$TMP/lib
  cc -shared -fPIC -o "$TMP/lib/libfirst.so" -x c - <<<'int toupper(int); int first(void) { return toupper(1); }'
  cc -shared -fPIC -o "$TMP/lib/libsecond.so" -x c - <<<'int setenv(const char *n, const char *v, int o) { return n == v && o; }'
  printf "\nMORE = -Wl,--no-as-needed '-L%s' -lfirst\n" "$TMP/lib" >>"$REPO/Makefile"
  commit
  BASE=$(git -C "$REPO" rev-parse HEAD)
  not_warned_of 'int more(void) { return 1; }'
  warned_of 'int toupper(int letter) { return letter; }' 'has toupper of'
  sed -i 's/-lfirst/-lfirst -lsecond/' "$REPO/Makefile"
  warned_of 'int idle;' 'NEEDED.*libsecond' 'libsecond.so has setenv'
}

# A build that keeps its objects, as ours does.
with_objects() {
  sed -i 's/^\tcc .*/&\n\tmkdir -p build\/x\/kernels\/variants build\/x\/kernels\/problem\n\techo "int rows_of(int B) { return B; }" | cc -c -x c - -o build\/x\/kernels\/problem\/rows.c.o\n\tcc -MMD -c -I. -o build\/x\/kernels\/variants\/cpu_flash.c.o kernels\/variants\/cpu_flash.c/; s/-o attnbench/& -Wl,--unresolved-symbols=ignore-all/' \
    "$REPO/Makefile"
  printf '\nMORE = -Wl,--no-as-needed -lm\n' >>"$REPO/Makefile"
  commit
}

@test "what a variant calls that none did before is told of, and so are calls past the library" {
  compiled
  with_objects
  BASE=$(git -C "$REPO" rev-parse HEAD)
  not_told_of() {
    printf '%s\n' "$1" >"$REPO/kernels/variants/cpu_flash.c"
    commit
    must 0 gate --base "$BASE"
    refute_out 'variants of the head'
  }
  not_told_of '#include <math.h>
    #include <string.h>
    int rows_of(int);
    float more(float x, char *to) { memcpy(to, &x, sizeof x); return sqrtf(expf(x)) + fminf(x, 2) + (float)rows_of(1); }'
  called() {
    printf '%s\n' "$1" >"$REPO/kernels/variants/cpu_flash.c"
    commit
    must 0 gate --base "$BASE"
    expect_out_matches "^::warning .*variants of the head call what no variant of the base does.*: $2\$"
    grep -qF "  - \`${2%% *}\`" "$REPO/build/gate/gate.md" || fail "$2 is not in gate.md"
  }
  called '#include <stdlib.h>
    int more(void) { return getenv("GATED") != NULL; }' getenv
  called 'extern char **environ; char *more(void) { return *environ; }' environ
  called '#define NAME(a, b) a##b
    int NAME(mpro, tect)(void *, unsigned long, int); int more(void) { return NAME(mpro, tect)(0, 1, 7); }' mprotect
  case $(uname -m) in x86_64) ;; *) return ;; esac
  command -v objdump >/dev/null || skip "no objdump"
  printf 'long more(void) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(39L) : "rcx", "r11", "memory"); return r; }' >"$REPO/kernels/variants/cpu_flash.c"
  commit
  must 0 gate --base "$BASE"
  expect_out_matches '^::warning .*call the system past its library: build/x/kernels/variants/cpu_flash.c.o$'
}

@test "a file that looks like data and is compiled is told of" {
  compiled
  with_objects
  mkdir -p "$REPO/tests/data" "$REPO/results"
  echo 'int more;' >"$REPO/tests/data/kernel.inc"
  echo 'int unused;' >"$REPO/results/other.inc"
  echo '#include "tests/data/kernel.inc"' >"$REPO/kernels/variants/cpu_flash.c"
  sed -i 's/cc -DVERSION/cc -I. -DVERSION/' "$REPO/Makefile"
  commit
  must 0 gate --base HEAD^
  expect_out_matches "^::warning .*program is made of files that look like data: tests/data/kernel.inc\$"
}

# builds RECIPE...: the head's Makefile runs these lines, then builds its program.
builds() {
  { cat "$REPO/Makefile" && printf '\t%s\n' "$@"; } >"$TMP/Makefile"
  mv "$TMP/Makefile" "$REPO/Makefile"
  echo evil >"$REPO/version"
  commit
}
need_namespaces() { [ "$(bash scripts/gate_apart.sh --probe)" = namespaces ] || skip "no namespaces here"; }
# A machine that allows no namespaces.
without_namespaces() {
  printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/unshare"
  chmod +x "$TMP/bin/unshare"
}
# One that gives a side no user of its own either.
without_users() {
  without_namespaces
  printf '#!/bin/sh\ncase " $* " in *" --reuid "*) exit 1 ;; esac\nexec %s "$@"\n' "$(command -v setpriv || echo false)" >"$TMP/bin/setpriv"
  chmod +x "$TMP/bin/setpriv"
}

@test "a head's build reaches neither the base's program, sweep and scripts nor the files of the CI" {
  need_namespaces
  mkdir "$TMP/ci"
  builds '-echo evil | tee ../../../attnbench-base ../../../sweep.json ../../gate_apart.sh ../../judge/sums' \
    "-echo evil | tee $TMP/ci/env $TMP/ci/summary \$\$GITHUB_ENV \$\$GITHUB_STEP_SUMMARY" \
    '-echo evil | tee ../../../../../scripts/gate_ci.sh ../../../../../.git/config' \
    '-cd ../../../.. && git update-ref refs/heads/evil HEAD' '-env | grep -q GITHUB && touch saw-the-ci' \
    '! cat ../../../attnbench-base && ! cat ../../base/source/attnbench && ! ls ../../judge'
  GITHUB_ENV=$TMP/ci/env GITHUB_STEP_SUMMARY=$TMP/ci/summary must 0 gate
  [ "$(sort -u "$CALLS.judges")" = "judged by head" ] || fail "the base's program was overwritten"
  [ "$(cat "$REPO/build/gate/sweep.json")" = '{}' ]
  [ "$(ls "$TMP/ci")" = summary ] || fail "it wrote for later steps"
  ! grep -q evil "$TMP/ci/summary" "$REPO/.git/config" "$REPO/scripts/gate_ci.sh" || fail "it wrote where it must not"
  refute_out 'no namespaces'
}

@test "where the base's program cannot be hidden from the head a warning says so" {
  need_namespaces
  must 0 gate
  refute_out "can read the base's"
  must 0 gate --out "$TMP"
  expect_out "::warning title=attnbench::the head's program can read the base's and run it as itself"
  grep -q "can read the base's" "$TMP/gate.md" || fail "gate.md does not say so"
  sed -i 's/\<hide\>/cover/' "$REPO/scripts/gate_apart.sh" # as an older one
  commit
  echo next >"$REPO/version"
  commit
  must 0 gate
  expect_out "can read the base's"
}

# One that gives a side a user of its own, who finds the way to the test's folder.
with_users() {
  local folder=$TMP
  [ "$(id -u)" -eq 0 ] || skip "only root can give a side a user of its own"
  without_namespaces
  while [ "$folder" != / ]; do
    chmod o+x "$folder"
    folder=$(dirname "$folder")
  done
  chmod -R o+rX "$TMP/bin" "$REPO"
}

@test "without namespaces a job of root builds and measures the head as a user of its own, and the verdict says so" {
  with_users
  builds '-echo evil | tee ../../../attnbench-base ../../../sweep.json ../../gate_apart.sh ../../judge/sums' \
    '-echo evil | tee ../../../../../scripts/gate_ci.sh ../../../../../.git/config' \
    '-cd ../../../.. && git -c safe.directory=* update-ref refs/heads/evil HEAD' \
    '! cat ../../../attnbench-base && ! cat ../../base/source/attnbench && ! ls ../../judge' \
    'setsid nohup sh -c "while :; do sleep 1; done; : left-by-a-build-as-a-user" >/dev/null 2>&1 &'
  must 0 gate
  expect_out "::warning title=attnbench::this machine allows no namespaces: the head's program runs as a user of its own"
  grep -q 'a user of its own' "$REPO/build/gate/gate.md"
  [ "$(sort -u "$CALLS.judges")" = "judged by head" ] || fail "the base's program was overwritten"
  [ "$(cat "$REPO/build/gate/sweep.json")" = '{}' ]
  ! grep -q evil "$REPO/.git/config" "$REPO/scripts/gate_ci.sh" || fail "it wrote where it must not"
  [ ! -e "$REPO/.git/refs/heads/evil" ] || fail "it made a branch"
  ! grep -qsF left-by-a-build-as-a-user /proc/[0-9]*/cmdline || fail "it runs on"
  [ "$(stat -c %A "$REPO/build/gate/gate.md" | cut -c 8)" = r ] || [ "$(umask)" != 0022 ] || fail "others cannot read the verdict"
}

@test "a gate whose sides are users of their own leaves the modes of other files in its folder as they were" {
  with_users
  umask 022
  mkdir -p "$REPO/build/gate/notes of
mine"
  echo mine >"$REPO/build/gate/results.txt"
  chmod 2775 "$REPO/build/gate/notes of
mine"
  chmod 640 "$REPO/build/gate/results.txt"
  modes() { stat -c '%a %g %n' "$REPO/build/gate" "$REPO/build/gate/"{notes*,results.txt}; }
  before=$(modes)
  must 0 gate
  expect_out 'a user of its own'
  [ "$(modes)" = "$before" ] || fail "$(modes)"
  [ "$(stat -c '%a %g' "$REPO/build/gate/attnbench-base" "$REPO/build/gate/attnbench-head" | sort -u | wc -l)" -eq 1 ] || fail "$(ls -l "$REPO/build/gate")"
  must 8 gate --out "$TMP/two
lines"
  mkdir -m 1777 "$TMP/of-all"
  must 8 gate --out "$TMP/of-all"
  expect_err 'a folder of all users'
  [ "$(stat -c %a "$TMP/of-all")" = 1777 ] || fail "it was closed to them"
}

@test "a job that makes files for itself alone can give sides users of their own, and its outputs stay closed" {
  with_users
  umask 077
  must 0 gate --out build/elsewhere
  expect_out 'a user of its own'
  [ -z "$(find "$REPO/build/elsewhere" -perm /066)" ] || fail "others can read $(find "$REPO/build/elsewhere" -perm /066)"
}

@test "what all users may write of the clone and on the PATH is told of, and what a gate makes is not of that kind" {
  with_users
  umask 000
  must 0 gate --out build/elsewhere
  refute_out 'all users of this machine'
  [ -z "$(find "$REPO/build" -perm -2 ! -type l)" ] || fail "all users may write $(find "$REPO/build" -perm -2)"
  chmod o+w "$REPO/scripts/gate_ci.sh"
  must 0 gate
  expect_out_matches '^::warning .*all users of this machine.*: .*/scripts/gate_ci.sh$'
  chmod o-w "$REPO/scripts/gate_ci.sh"
  mkdir "$TMP/tools"
  chmod 1777 "$TMP/tools"
  PATH=$TMP/tools:$PATH must 0 gate
  expect_out_matches '^::warning .*all users of this machine.*: .*/tools$'
  chmod o+w "$REPO/build"
  must 0 gate
  expect_out_matches '^::warning .*all users of this machine.*/build'
}

@test "nsys runs the head as a user of its own where the other processes do" {
  with_users
  export NEW_JSON=$TMP/new.json NSYS=true
  echo '{}' >"$NEW_JSON"
  sed -i '/"$1" = --markdown/a if [ "$1" = --json ] || [ "$1" = --base-json ]; then cp "$NEW_JSON" "$2"; fi' "$REPO/program"
  mkdir "$REPO/scripts/lib"
  echo 'code = 6' >"$REPO/scripts/lib/answers.py"
  printf 'import os, sys\nfrom lib import answers\nfor name in sys.argv[2::2]: open(name).close()\nprint("user", os.getuid())\nsys.exit(answers.code)\n' >"$REPO/scripts/gate_witness.py"
  commit
  echo next >"$REPO/version"
  commit
  must 6 gate
  expect_out_matches '^::error .*not those that nsys sees of its kernels: user [345]....$'
}

@test "without namespaces a build that changes what the gate uses ends with 6, and the verdict says what is not held" {
  without_users
  must 0 gate
  expect_out '::warning title=attnbench::this machine allows no namespaces'
  grep -q 'no namespaces' "$REPO/build/gate/gate.md"
  rm "$CALLS"
  for file in ../../../attnbench-base ../../../sweep.json ../../gate_apart.sh; do
    git -C "$REPO" checkout -q HEAD -- Makefile
    builds "echo '#!/bin/true' >$file"
    gate --base "$(git -C "$REPO" log --format=%H --grep head -n 1)"
    refused 'changed while the head was built'
    git -C "$REPO" reset -q --hard HEAD^
  done
}

@test "what a head's build leaves running does not see the base's turn" {
  need_namespaces
  builds 'setsid nohup sh -c "while :; do sleep 1; done; : left-by-the-build" >/dev/null 2>&1 &'
  must 0 gate
  ! grep -qsF left-by-the-build /proc/[0-9]*/cmdline || fail "it runs on"
}

@test "a head whose program is a link has none" {
  builds 'ln -sf ../../../attnbench-base attnbench'
  must 9 gate
  [ ! -e "$CALLS" ] || fail "something was measured"
}

@test "a head does not choose where outputs go" {
  sed -i '/build/d' "$REPO/.gitignore"
  mkdir "$REPO/elsewhere"
  ln -s elsewhere "$REPO/build"
  commit
  must 8 gate
  expect_err 'build is a link'
  rm "$REPO/build"
  mkdir -p "$REPO/build/gate"
  ln -s ../../program "$REPO/build/gate/attnbench-base"
  echo attnbench-base >"$REPO/build/gate/.made-by-gate-ci"
  commit
  must 8 gate
  expect_err 'build/gate is a part of the head'
}

@test "what a head's build says and does changes no commit and gives the CI no command" {
  cat >"$REPO/Makefile" <<'MAKE'
$(shell git update-ref refs/heads/base-branch HEAD; git -C ../../../.. update-ref refs/heads/base-branch HEAD)
all:
	@echo '::stop-commands::x'; echo '::stop-commands::x' >&2
	@sed "s/@version@/$$(cat version)/" program >attnbench && chmod +x attnbench
MAKE
  git -C "$REPO" branch -q base-branch
  echo next >"$REPO/version"
  commit
  must 0 gate --base base-branch
  [ "$(sed -n 2p "$CALLS")" = head ] || fail "measured against $(sed -n 2p "$CALLS")"
  refute_out 'stop-commands'
  refute_err 'stop-commands'
  printf 'all:\n\t@echo ::stop-commands::x; exit 1\n' >"$REPO/Makefile"
  commit
  must 9 gate --base HEAD~2
  ! grep -q '^ *::stop-commands' "$ERR" || fail "the CI was given a command"
}

@test "names of files give the CI no command" {
  touch "$REPO/::stop-commands::x" "$REPO/a##[error]b"
  commit
  must 0 gate
  grep -q 'stop-commands::x' "$ERR" || fail "the name is not told"
  ! grep -qE '^ *::|##\[' "$ERR" || fail "the CI was given a command: $(grep -E '^ *::|##\[' "$ERR")"
  ! grep -qE '^ *::stop|##\[' "$OUT" || fail "the CI was given a command"
}

@test "a head whose build leaves pipes in the place of files is not waited for" {
  printf 'all:\n\t@mkfifo attnbench\n' >"$REPO/Makefile"
  commit
  must 9 capture timeout 60 bash -c "cd '$REPO' && bash scripts/gate_ci.sh --base HEAD^"
  git -C "$REPO" checkout -q HEAD^ -- Makefile
  printf '\t@mkfifo x.d kernels.o\n' >>"$REPO/Makefile"
  commit
  must 0 capture timeout 60 bash -c "cd '$REPO' && bash scripts/gate_ci.sh --base HEAD^^"
}

@test "a build that puts its files behind a link is told of" {
  printf '\t@mkdir -p kernels/variants && mv kernels elsewhere && ln -s elsewhere kernels\n' >>"$REPO/Makefile"
  commit
  must 0 gate
  expect_out_matches '^::warning .*made links, which are not followed to the files behind them: kernels$'
  sed -i '$d' "$REPO/Makefile"
  printf '\t@cd .. && mv source s2 && ln -s s2 source\n' >>"$REPO/Makefile"
  commit
  must 6 gate --base HEAD^^
  expect_out_matches '^::error .*put a link in the place of its own folder'
}

@test "hidden characters are found in lines that look like a header of the diff, and files that the assembler reads are told" {
  printf '++ x; /* \342\200\256 */\n' >"$REPO/a.c"
  printf 'y; /* \330\234 */\n' >"$REPO/b.c"
  printf '++ z; /* plain */\n' >"$REPO/c.c"
  printf '__asm__(".include \\"results/notes.md\\"\\n");\n' >"$REPO/d.c"
  commit
  must 0 gate
  expect_out_matches '^::warning .*hide text or change its order on the page: a.c b.c$'
  expect_out_matches '^::warning .*let the assembler read other files.*: d.c$'
}

@test "hooks and filters of the clone do not run what a branch names" {
  mkdir -p "$REPO/.git/hooks"
  for hook in post-checkout post-index-change reference-transaction; do
    printf '#!/bin/sh\ntouch "%s/hooked"\n' "$TMP" >"$REPO/.git/hooks/$hook"
    chmod +x "$REPO/.git/hooks/$hook"
  done
  git -C "$REPO" config filter.evil.clean cat
  git -C "$REPO" config filter.evil.smudge "touch '$TMP/filtered'; cat"
  git -C "$REPO" config filter.evil.required true
  echo 'program filter=evil' >"$REPO/.gitattributes"
  commit
  rm -f "$TMP/hooked" "$TMP/filtered"
  must 0 gate
  [ ! -e "$TMP/hooked" ] || fail "a hook was run"
  [ ! -e "$TMP/filtered" ] || fail "a filter was run"
}

@test "nsys is a witness of the head's times where it is there, and a warning says where it is not" {
  must 0 gate
  expect_out_matches '^::warning .*nothing outside the head.s program times its kernels'
  grep -q "nothing outside the head" "$REPO/build/gate/gate.md" || fail "gate.md does not say so"
  export NEW_JSON=$TMP/new.json NSYS=true
  echo '{}' >"$NEW_JSON"
  sed -i '/"$1" = --markdown/a if [ "$1" = --json ]; then cp "$NEW_JSON" "$2"; fi' "$REPO/program"
  printf 'import os, sys\nprint("row", *sys.argv[1:2], os.environ.get("GITHUB_ENV"))\nsys.exit(%s)\n' 6 >"$REPO/scripts/gate_witness.py"
  commit
  echo next >"$REPO/version"
  commit
  GITHUB_ENV=$TMP/env must 6 gate
  expect_out_matches '^::error .*not those that nsys sees of its kernels: row --sweep None'
  refute_out 'nothing outside'
  grep -q "exit code 6" "$REPO/build/gate/gate.md" || fail "gate.md passes it"
  grep -q '^\*\*No verdict:\*\* the head' "$REPO/build/gate/gate.md" || fail "gate.md has a verdict"
  ! grep -q passed "$REPO/build/gate/gate.md" || fail "gate.md has the verdict before"
  [ ! -e "$REPO/build/gate/gate.json" ] || fail "gate.json is there"
  python -c 'import sys, xml.etree.ElementTree as tree
assert tree.parse(sys.argv[1]).getroot().get("errors") == "1"' "$REPO/build/gate/gate.xml"
  # A head that has no such witness, or a witness that believes it, is not what is asked.
  echo 'raise SystemExit(0)' >"$REPO/scripts/gate_witness.py"
  echo later >"$REPO/version"
  commit
  must 6 gate
  must 0 gate -- --device cpu
  must 0 gate --base HEAD
  expect_err 'nsys saw the changes'
}

@test "an anchor catches what single merges do not" {
  git -C "$REPO" tag release HEAD^
  must 0 gate --anchor release
  [ "$(grep -c '^ab ' "$CALLS")" -eq 2 ]
  grep -q -e '^ab --base build/gate/attnbench-anchor --candidate build/gate/attnbench-head .*/anchor.md ' "$CALLS" || fail "$(cat "$CALLS")"
  ANSWER=1 ANCHOR_REF=release must 1 gate
  expect_err 'slower than the anchor release'
  must 6 gate --anchor nowhere
}

# commits COUNT: so many more, each with a program of its own; the last one is the head.
commits() {
  local i
  for ((i = 0; i < $1; i++)); do
    echo "next $i" >"$REPO/version"
    commit
  done
}
tag_of() { git -C "$REPO" tag "$1" "$2"; }
anchored() { sed -n '/attnbench-anchor/{n;p;}' "$CALLS"; }

@test "the anchor is the last release in the base's history, and a tag moves it" {
  commits 4 # base, head, 0, 1, 2, 3: the base is "next 2"
  must 0 gate
  expect_err 'no anchor'
  [ "$(grep -c '^ab ' "$CALLS")" -eq 1 ]
  tag_of v0.9 HEAD~5
  tag_of v1.0.0 HEAD~4
  tag_of vain HEAD~2
  tag_of v2.0.0 HEAD # of the change: no business of the base
  rm "$CALLS"
  ANSWER=1 must 1 gate
  [ "$(anchored)" = head ] || fail "anchored at $(anchored)"
  expect_err 'slower than the anchor v1.0.0'
  tag_of gate-anchor-1 HEAD~3
  tag_of gate-anchor-2 HEAD
  rm "$CALLS"
  gate
  [ "$(anchored)" = "next 0" ] || fail "the improvement did not move the anchor: $(anchored)"
  # A branch of a tag's name is not the tag.
  git -C "$REPO" branch -q gate-anchor-1 HEAD~5
  rm "$CALLS"
  gate
  [ "$(anchored)" = "next 0" ] || fail "anchored at a branch: $(anchored)"
  rm "$CALLS"
  gate --anchor HEAD~5
  [ "$(anchored)" = base ] || fail "the one asked for was not taken"
  rm "$CALLS"
  ANCHOR_REF=none must 0 gate
  [ -z "$(anchored)" ] || fail "none was asked for"
  tag_of v1.1.0 HEAD^
  rm "$CALLS"
  must 0 gate
  [ -z "$(anchored)" ] || fail "the base was measured twice"
  expect_err 'the base is the anchor v1.1.0 itself'
}

@test "rows that are faster than the anchor are named with the command that moves it" {
  export COMPARED=$REPO/compared
  cp tests/data/compare_mixed.json "$COMPARED"
  sed -i '/"$1" = --markdown/a if [ "$1" = --compare-json ]; then cp "$COMPARED" "$2"; fi' "$REPO/program"
  commits 3
  tag_of v1.0.0 HEAD~2
  must 0 gate
  tag=gate-anchor-$(git -C "$REPO" rev-parse --short=12 HEAD)
  grep '^::notice .*faster than the anchor v1.0.0' "$OUT" >"$TMP/told" || fail "no notice"
  grep -qF "git tag $tag COMMIT && git push origin $tag" "$TMP/told" || fail "$(cat "$TMP/told")"
  grep -qF 'split_kv hot: improved -11.3 %' "$TMP/told" || fail "$(cat "$TMP/told")"
  ! grep -qE 'regressed|wrong|missing|added' "$TMP/told" || fail "$(cat "$TMP/told")"
  grep -qF 'split_kv hot: improved' "$REPO/build/gate/anchor.md"
  ! grep -qF 'faster than the anchor' "$REPO/build/gate/gate.md" || fail "against the base it is no anchor's matter"
}

@test "a release that cannot take part is told of, an anchor that was asked for ends with 6" {
  for reason in broken old plan; do
    git -C "$REPO" checkout -q --detach "$(git -C "$REPO" rev-list --max-parents=0 HEAD)"
    case $reason in
      plan) sed -i '2i [ "$1" != plan ] || exit 7' "$REPO/program" ;;
      *) touch "$REPO/$reason" ;;
    esac
    commits 1
    tag_of "v1.0.0-$reason" HEAD
    git -C "$REPO" checkout -q HEAD^ -- program
    rm -f "$REPO/broken" "$REPO/old"
    commits 2
    rm -f "$CALLS"
    must 0 gate
    expect_out "::warning title=attnbench::the anchor v1.0.0-$reason cannot take part"
    grep -q 'cannot take part' "$REPO/build/gate/gate.md" || fail "gate.md does not say so"
    [ -z "$(anchored)" ] || fail "it was measured"
    rm "$CALLS"
    must 6 gate --anchor "v1.0.0-$reason"
    [ ! -e "$CALLS" ] || fail "something was measured"
  done
}

@test "nothing is deleted that the script did not make" {
  mkdir -p "$REPO/build/gate/base"
  echo mine >"$REPO/build/gate/base/file"
  echo mine >"$REPO/build/gate/gate.c"
  must 0 gate
  must 0 gate
  [ "$(cat "$REPO/build/gate/base/file" "$REPO/build/gate/gate.c")" = "mine
mine" ]
  must 8 gate --out shapes
  expect_err 'shapes is a part of the head'
  mkdir "$TMP/full"
  echo mine >"$TMP/full/gate.json"
  must 8 gate --out "$TMP/full"
  expect_err 'is not of an earlier gate'
  [ "$(cat "$TMP/full/gate.json")" = mine ]
}

@test "the shipped workflow runs the base's copy of the script, with the anchor of the repository's settings or its last release" {
  workflow=$(python - <<'PY'
import re
text = open(".github/workflows/gate.yml", encoding="utf-8").read()
block = re.search(r"run: \|\n((?: {10}.*\n)+)", text)[1]
print(re.sub(r"(?m)^ {10}", "", block))
PY
  )
  printf '#!/bin/sh\nexit 0\n' >"$REPO/scripts/gate_ci.sh" # what a branch would like to be judged by
  commit
  git -C "$REPO" update-ref refs/remotes/origin/main HEAD^
  job() { (cd "$REPO" && RUNNER_TEMP=$TMP GITHUB_BASE_REF=main bash -euo pipefail -c "$workflow"); }
  ANSWER=1 must 1 capture job
  grep -q '^ab ' "$CALLS" || fail "nothing was measured"
  [ ! -e "$REPO/build/gate/anchor.json" ]
  rm "$CALLS"
  GATE_ANCHOR=$(git -C "$REPO" rev-parse HEAD~2) capture job
  expect_status 0
  [ "$(grep -c '^ab ' "$CALLS")" -eq 2 ] || fail "no anchor: $(cat "$CALLS")"
  rm "$CALLS"
  tag_of v1.0.0 HEAD~2
  must 0 capture job
  [ "$(grep -c '^ab ' "$CALLS")" -eq 2 ] || fail "no release: $(cat "$CALLS")"
  rm "$CALLS"
  GATE_ANCHOR=none capture job
  [ "$(grep -c '^ab ' "$CALLS")" -eq 1 ] || fail "none was asked for: $(cat "$CALLS")"
}
