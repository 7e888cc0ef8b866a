# scripts/gate_ci.sh in a repository of its own, whose "attnbench" is a script that writes down how it was called and
# ends as it is told.
load helper

setup() {
  need_git
  REPO=$TMP/repo
  mkdir -p "$REPO/scripts" "$REPO/shapes" "$TMP/bin"
  cp scripts/gate_ci.sh "$REPO/scripts"
  echo '{}' >"$REPO/shapes/gate.json"
  cat >"$REPO/Makefile" <<'MAKE'
all:
	@test ! -e broken
	@sed "s/@version@/$$(cat version)/" program >attnbench && chmod +x attnbench
MAKE
  cat >"$REPO/program" <<'PROGRAM'
#!/usr/bin/env bash
if [ "$1" = --help ]; then
  [ -e "$(dirname "$0")/old" ] || echo "  --rounds N  fresh processes"
  printf '%200000s\n' "more than a pipe holds" # to whoever reads to the end
  exit
fi
[ "$1" != --version ] || exec echo @version@
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

# baseline GPU: a committed baseline of that GPU.
baseline() {
  mkdir -p "$REPO/results/some/baseline"
  printf '{"device": {"name": "%s"}}' "$1" >"$REPO/results/some/baseline/gate.json"
}

@test "base and head are built and measured in turns, and nothing of the base stays" {
  gate
  expect_status 0
  [ "$(sed -n 1p "$CALLS")" = "ab --base build/gate/attnbench-base --candidate ./attnbench --base-json \
build/gate/base.json --json build/gate/new.json --sweep shapes/gate.json --compare-json build/gate/gate.json --markdown \
build/gate/gate.md --junit build/gate/gate.xml --annotations -" ] || fail "$(cat "$CALLS")"
  [ "$(sed -n 2p "$CALLS")" = base ] || fail "the base is not the revision before"
  [ -z "$(ls -d "$REPO"/build/gate/.work.* 2>/dev/null)" ] || fail "the worktree is still there"
  [ "$(sort -u "$CALLS.judges")" = "judged by base" ] || fail "the change judged itself"
  [ "$(git -C "$REPO" worktree list | wc -l)" -eq 1 ]
  gate
  expect_status 0
}

@test "the exit code of the gate is the job's" {
  for code in 1 3 4 5 6 7 8 77; do
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

@test "options behind -- are passed on, and the sweep is the one named" {
  echo '{}' >"$REPO/shapes/other.json"
  echo both >"$REPO/version"
  commit
  echo more >"$REPO/version"
  commit
  gate --sweep shapes/other.json --out build/elsewhere -- --threshold 3 --noise=warn
  expect_status 0
  grep -q -e '--sweep shapes/other.json .*--annotations - --threshold 3 --noise=warn$' "$CALLS" || fail "$(cat "$CALLS")"
  [ -e "$REPO/build/elsewhere/gate.md" ]
}

@test "the summary is appended to what the step has written" {
  echo "written before" >"$TMP/summary"
  GITHUB_STEP_SUMMARY=$TMP/summary ANSWER=1 gate
  expect_status 1
  [ "$(cat "$TMP/summary")" = "written before
summary of this gate" ]
}

@test "a base that does not build or is too old gives way to the baseline of this GPU" {
  baseline "NVIDIA H200"
  for flaw in broken old; do
    git -C "$REPO" checkout -q -B "with-$flaw"
    touch "$REPO/$flaw"
    commit
    rm "$REPO/$flaw"
    commit
    rm -f "$CALLS"
    ANSWER=5 gate
    expect_status 5
    grep -q -e '^--device cuda --quick --baseline .*/baseline.json --json ' "$CALLS" || fail "$flaw: $(cat "$CALLS")"
  done
}

@test "a base that is no revision gives way to the baseline that is named" {
  gate --base no-such-branch --baseline mine.json
  expect_status 0
  grep -q -e '--baseline mine.json' "$CALLS" || fail "$(cat "$CALLS")"
}

@test "with neither a base nor a baseline of this GPU nothing passes" {
  baseline "NVIDIA L4"
  gate --base no-such-branch
  expect_status 6
  expect_err 'nothing to compare with'
  expect_err 'no-such-branch is no revision of this clone'
  [ ! -e "$CALLS" ] || fail "something was measured"
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

@test "a folder that cannot be made is an output that cannot be written, not a slower case" {
  gate --out Makefile/below
  expect_status 8
  [ ! -e "$CALLS" ] || fail "something was measured"
}

@test "a head that does not build is told from a slow one" {
  touch "$REPO/broken"
  gate
  expect_status 9
  expect_err 'does not build'
}

@test "without a GPU the job ends with 77, or with 0 when that is asked for" {
  compgen -G '/dev/nvidia[0-9]*' >/dev/null && skip "there is a GPU here"
  printf '#!/bin/sh\nexit 9\n' >"$TMP/bin/nvidia-smi"
  gate
  expect_status 77
  expect_err 'no GPU here'
  gate --skip-without-gpu
  expect_status 0
  expect_out '::notice'
  [ ! -e "$CALLS" ] || fail "something was measured"
}

@test "the command line of the job is checked" {
  gate --sweeps x
  expect_status 2
  expect_err '--sweeps is not understood'
  gate --base
  expect_status 2
  expect_err '--base needs a value'
  gate --help
  expect_status 0
  expect_out '--anchor REF           also compare'
  refute_out '#!/'
}

# ---- a pull request must not steer its own gate -------------------------------------------------------------------

@test "a changed sweep is shown, the base's is measured, and the gate fails unless the job allows it" {
  echo '{"fewer": "cases"}' >"$REPO/shapes/gate.json"
  commit
  gate
  expect_status 4
  expect_err '+{"fewer": "cases"}'
  expect_out '::error'
  grep -q -e '--sweep .*/sweep/gate.json ' "$CALLS" || fail "$(cat "$CALLS")"
  ANSWER=3 gate
  expect_status 3
  rm "$CALLS"
  gate --allow-sweep-change
  expect_status 0
  grep -q -e '--sweep shapes/gate.json ' "$CALLS" || fail "$(cat "$CALLS")"
  GATE_ALLOW_SWEEP_CHANGE=1 gate
  expect_status 0
}

@test "a sweep that the base does not have fails unless the job allows it" {
  echo '{}' >"$REPO/shapes/mine.json"
  gate --sweep shapes/mine.json
  expect_status 4
  [ ! -e "$CALLS" ] || fail "something was measured"
}

@test "a baseline is the base's, whatever the change writes into its own" {
  baseline "NVIDIA H200"
  touch "$REPO/old"
  commit
  rm "$REPO/old"
  echo '{"device": {"name": "NVIDIA H200"}, "slow": true}' >"$REPO/results/some/baseline/gate.json"
  sed -i '/printf .%s.n. "$\*"/a [[ "$*" != *--baseline* ]] || cat "$(sed "s/.*--baseline \\([^ ]*\\).*/\\1/" <<<"$*")" >>"$CALLS"' "$REPO/program"
  commit
  gate
  expect_status 0
  grep -q '"name": "NVIDIA H200"' "$CALLS" || fail "$(cat "$CALLS")"
  ! grep -q slow "$CALLS" || fail "the change's own baseline was taken"
}

@test "what measures is told of when a change touches it" {
  local file
  for file in cli/measure/timer.c cli/base/stats.c kernels/pattern.h GNUmakefile .github/workflows/gate.yml; do
    mkdir -p "$REPO/$(dirname "$file")"
    echo 'include Makefile' >"$REPO/$file"
  done
  commit
  gate
  expect_status 0
  for file in cli/measure/timer.c cli/base/stats.c kernels/pattern.h GNUmakefile .github/workflows/gate.yml; do
    expect_err "$file"
  done
  mkdir -p "$REPO/kernels/variants" "$REPO/tests"
  touch "$REPO/kernels/variants/mine.cu" "$REPO/tests/mine.bats" "$REPO/NOTES.md"
  commit
  gate
  expect_status 0
  refute_err 'touches what measures'
}

@test "an anchor catches what single merges do not" {
  git -C "$REPO" tag release HEAD^
  gate --anchor release
  expect_status 0
  [ "$(grep -c '^ab ' "$CALLS")" -eq 2 ]
  grep -q -e '^ab --base .*/anchor/attnbench --candidate ./attnbench .*/anchor.md ' "$CALLS" || fail "$(cat "$CALLS")"
  ANSWER=1 ANCHOR_REF=release gate
  expect_status 1
  expect_err 'slower than the anchor release'
  gate --anchor nowhere
  expect_status 6
}

@test "nothing is deleted that the script did not make" {
  mkdir -p "$REPO/build/gate/base"
  echo mine >"$REPO/build/gate/base/file"
  echo mine >"$REPO/build/gate/gate.c"
  gate
  expect_status 0
  gate
  expect_status 0
  [ "$(cat "$REPO/build/gate/base/file" "$REPO/build/gate/gate.c")" = "mine
mine" ]
  before=$(cat "$REPO/shapes/gate.json")
  gate --out shapes
  expect_status 8
  expect_err 'is not of an earlier gate'
  [ "$(cat "$REPO/shapes/gate.json")" = "$before" ]
}

@test "the shipped workflow runs the base's copy of the script, with the anchor of the repository's settings" {
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
  ANSWER=1 capture job
  expect_status 1
  grep -q '^ab ' "$CALLS" || fail "nothing was measured"
  [ ! -e "$REPO/build/gate/anchor.json" ]
  rm "$CALLS"
  GATE_ANCHOR=$(git -C "$REPO" rev-parse HEAD~2) capture job
  expect_status 0
  [ "$(grep -c '^ab ' "$CALLS")" -eq 2 ] || fail "no anchor: $(cat "$CALLS")"
}
