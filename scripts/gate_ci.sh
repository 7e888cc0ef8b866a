#!/usr/bin/env bash
# What a CI job runs to gate a change: builds the base revision and the checked-out one, has the base's program measure
# both in turns on one GPU (`attnbench ab`), and ends with its exit code. A base that cannot be built, or is too old to
# take part, is replaced by the committed baseline of this GPU.
#
#   scripts/gate_ci.sh [--base REF] [--anchor REF] [--sweep FILE] [--baseline FILE] [--out FOLDER] [--allow-sweep-change]
#                      [--skip-without-gpu] [-- OPTIONS]
#
#   --base REF             revision to compare with; by default BASE_REF, else origin/GITHUB_BASE_REF, else HEAD^
#   --anchor REF           also compare with this older revision, such as the last release, so that small slowdowns of
#                          many merges do not add up unseen; by default ANCHOR_REF, else none
#   --sweep FILE           default shapes/gate.json, as it is in the base revision
#   --baseline FILE        default: results/*/baseline/<sweep>.json of this GPU's name, as it is in the base revision
#   --out FOLDER           where gate.json, gate.md, gate.xml, new.json, base.json, attnbench-base, the build's log and
#                          (with an anchor) anchor.* go; default build/gate
#   --allow-sweep-change   measure the sweep as the change has it; also GATE_ALLOW_SWEEP_CHANGE=1
#   --skip-without-gpu     end with 0 where there is no GPU; without it with 77
#   -- OPTIONS             passed on, such as --threshold 3 --rounds 10 --noise=warn
#
# A change does not steer its own gate: sweep, thresholds, baseline and the program that judges are the base's. A change
# of the sweep is shown and ends with 4 unless the job (not the branch) allows it. This script is part of the branch too:
# run the base's copy of it, git show origin/main:scripts/gate_ci.sh >gate_ci.sh && bash gate_ci.sh, in the clone.
#
# attnbench-base is the base's program: a row's command can be run again. gate.md is also appended to GITHUB_STEP_SUMMARY;
# annotations go to stdout. MAKE and GENCODE (of the Makefile) are passed on and apply to all builds. A file in --out that
# this script did not make is left alone and ends the job with 8. Exit codes: README.md; 9 when the checked-out revision
# does not build.
set -euo pipefail
# The clone that this script lies in; a copy elsewhere gates the clone that it is called in.
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel 2>/dev/null || git rev-parse --show-toplevel)"

MAKE=${MAKE:-make}
base='' anchor=${ANCHOR_REF:-} sweep=shapes/gate.json baseline='' out=build/gate skip=0
allow_sweep_change=${GATE_ALLOW_SWEEP_CHANGE:-0}
options=()
work='' measuring=''
made=.made-by-gate-ci # in --out: the names of the files that are this script's own

say() { printf 'gate: %s\n' "$*" >&2; }

usage() {
  say "$1"
  sed -n 's/^# \{0,1\}//; /gate_ci.sh \[/,/OPTIONS\]$/p' "$0" | head -n 2 >&2
  exit 2
}

parse() {
  while [ $# -gt 0 ]; do
    case $1 in
      --base | --anchor | --sweep | --baseline | --out)
        if [ $# -lt 2 ] || [ -z "$2" ]; then usage "$1 needs a value"; fi
        case $1 in
          --base) base=$2 ;;
          --anchor) anchor=$2 ;;
          --sweep) sweep=$2 ;;
          --baseline) baseline=$2 ;;
          --out) out=$2 ;;
        esac
        shift 2
        ;;
      --help | -h)
        sed -n '2,/^set -/{/^set -/d; s/^# \{0,1\}//; p;}' "$0"
        exit 0
        ;;
      --skip-without-gpu) skip=1 && shift ;;
      --allow-sweep-change) allow_sweep_change=1 && shift ;;
      --) shift && options=("$@") && return ;;
      *) usage "$1 is not understood" ;;
    esac
  done
}

# grep -q ends at the first match, and a writer that is not done then dies of the broken pipe: with pipefail no match.
has() { grep -c "$@" >/dev/null; }

have_gpu() {
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | has '^GPU '; then return 0; fi
  compgen -G '/dev/nvidia[0-9]*' >/dev/null || [ -e /dev/dxg ]
}

base_revision() {
  local ref=${base:-${BASE_REF:-${GITHUB_BASE_REF:+origin/$GITHUB_BASE_REF}}}
  git rev-parse --verify --quiet "${ref:-HEAD^}^{commit}" && return
  say "the base ${ref:-HEAD^} is no revision of this clone: fetch it (fetch-depth: 0), or name another with --base"
  return 1
}

# ---- what is this script's own ------------------------------------------------------------------------------------

# Called by the trap. The folder is of mktemp, and so are the worktrees in it.
# shellcheck disable=SC2317
clean_up() {
  [ -n "$work" ] || return 0
  local tree
  for tree in "$work"/*/; do
    [ -e "$tree.git" ] || continue
    git worktree remove --force "$tree" 2>/dev/null || true
  done
  rm -rf "$work"
  git worktree prune
}

# Removes what an earlier gate left in --out, and nothing else.
claim_outputs() {
  local name
  for name in gate.json gate.md gate.xml new.json base.json attnbench-base anchor.json anchor.md anchor.xml base-build.log; do
    if [ -e "$out/$name" ] && ! grep -qxF "$name" "$out/$made" 2>/dev/null; then
      say "$out/$name exists and is not of an earlier gate: move it away, or name another folder with --out"
      exit 8
    fi
  done
  while IFS= read -r name; do
    case $name in
      gate.json | gate.md | gate.xml | new.json | base.json | attnbench-base | anchor.* | base-build.log) rm -f "$out/$name" ;;
    esac
  done < <(cat "$out/$made" 2>/dev/null || true)
  printf '%s\n' gate.json gate.md gate.xml new.json base.json attnbench-base anchor.json anchor.md anchor.xml base-build.log >"$out/$made"
}

# ---- the base -----------------------------------------------------------------------------------------------------

# build_revision REVISION NAME LOG: its program as $work/NAME/attnbench; fails when it cannot be built or knows nothing
# of rounds.
build_revision() {
  local revision=$1 worktree=$work/$2 log=$3
  git worktree add --force --detach --quiet "$worktree" "$revision" || return
  "$MAKE" -C "$worktree" all >"$log" 2>&1 || {
    say "$2 $revision does not build; the end of $log:"
    tail -n 5 "$log" >&2
    return 1
  }
  "$worktree/attnbench" --help | has -e ' --rounds ' || {
    say "$2 $revision is too old to be measured in rounds"
    return 1
  }
}

# take FILE REVISION COPY: the file as it is in the revision.
take() { git show "$2:$1" >"$3" 2>/dev/null; }

# The sweep as the base has it; a change of it is shown, and fails unless the job allows it.
take_sweep() {
  local revision=$1 name
  name=$(basename "$sweep")
  mkdir -p "$work/sweep"
  take "$sweep" "$revision" "$work/sweep/$name" || : >"$work/sweep/$name"
  if cmp -s "$sweep" "$work/sweep/$name"; then return; fi
  say "$sweep is not what it is in the base: cases, thresholds or variants of the gate change with this revision"
  diff -u --label "base/$sweep" --label "$sweep" "$work/sweep/$name" "$sweep" >&2 || true
  if [ "$allow_sweep_change" = 1 ]; then
    say "allowed by the job: measuring the sweep as the change has it"
    return
  fi
  echo "::error title=attnbench::the change alters $sweep, which gates it; allow it in the job with --allow-sweep-change"
  if [ ! -s "$work/sweep/$name" ]; then
    say "the base has no $sweep: nothing to measure"
    exit 4
  fi
  steered=4
  sweep=$work/sweep/$name
}

# What measures, builds or gates: a change of it is told, since the candidate's times are its own word. That is all but kernels,
# tests, measurements and texts: a clock, a median or a second makefile is as good a place to cheat as the timer.
tell_of_changes() {
  local changed
  changed=$(git diff --name-only "$1" HEAD -- . ':!kernels/variants' ':!kernels/tiles' ':!kernels/reference' ':!kernels/example' \
    ':!tests' ':!results' ':!shapes' ':!*.md' 2>/dev/null || true)
  [ -n "$changed" ] || return 0
  say "this change touches what measures or gates; look at it by hand:"
  printf '  %s\n' "${changed//$'\n'/$'\n'  }" >&2
  echo "::notice title=attnbench::this change touches what measures: $(paste -sd' ' <<<"$changed")"
}

# The committed baseline of this sweep whose device has the name of the GPU that is here, as it is in the revision.
find_baseline() {
  local revision=$1 name file gpu
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
  name=$(basename "$sweep" .json)
  while IFS= read -r file; do
    [[ $file == results/*/baseline/$name.json && -n $gpu ]] || continue
    take "$file" "$revision" "$work/baseline.json" || continue
    grep -qF "\"$gpu\"" "$work/baseline.json" || continue
    say "comparing with $file of ${revision:0:12}"
    echo "$work/baseline.json"
    return
  done < <(git ls-tree -r --name-only "$revision" -- results 2>/dev/null)
  say "no base could be built and the base has no results/*/baseline/$name.json for \"$gpu\": nothing to compare with"
  return 1
}

# ---- measuring ----------------------------------------------------------------------------------------------------

# Called by the traps: what measures would otherwise go on, and disturb the next gate on this GPU.
# shellcheck disable=SC2317
stop_measuring() {
  kill -TERM "$measuring" 2>/dev/null || true
  wait "$measuring" || true
  exit "$1"
}

# measure PROGRAM NAME VERB...: runs it with what every gate writes under that name; its exit code is the gate's.
measure() {
  local program=$1 name=$2 code=0
  shift 2
  trap 'stop_measuring 130' INT
  trap 'stop_measuring 143' TERM
  "$program" "$@" --sweep "$sweep" --compare-json "$out/$name.json" --markdown "$out/$name.md" --junit "$out/$name.xml" \
    --annotations - ${options[@]+"${options[@]}"} &
  measuring=$!
  wait "$measuring" || code=$?
  trap - INT TERM
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -e "$out/$name.md" ]; then cat "$out/$name.md" >>"$GITHUB_STEP_SUMMARY"; fi
  return "$code"
}

# The worst of two exit codes of a gate, in the order of README.md; any other failure is worse than these.
worse() {
  local code
  for code in 6 3 4 1 5; do
    if [ "$1" -eq "$code" ] || [ "$2" -eq "$code" ]; then echo "$code" && return; fi
  done
  echo 0
}

# add CODE: what one more comparison ended with.
add() {
  case $1 in
    0 | 1 | 3 | 4 | 5 | 6) outcome=$(worse "$outcome" "$1") ;;
    *) exit "$1" ;;
  esac
}

# The base's program judges: the change may have taught its own to pass.
gate_base() {
  local judge=$out/attnbench-base code=0
  cp "$work/base/attnbench" "$judge"
  measure "$judge" gate ab --base "$judge" --candidate ./attnbench --base-json "$out/base.json" --json "$out/new.json" || code=$?
  add "$code"
}

gate_anchor() {
  local revision code=0
  revision=$(git rev-parse --verify --quiet "$anchor^{commit}") || {
    say "the anchor $anchor is no revision of this clone"
    exit 6
  }
  say "building the anchor, $revision"
  build_revision "$revision" anchor "$work/anchor.log" || exit 6
  measure "$out/attnbench-base" anchor ab --base "$work/anchor/attnbench" --candidate ./attnbench || code=$?
  [ "$code" -ne 1 ] || say "slower than the anchor $anchor: small slowdowns of several merges have added up"
  add "$code"
}

gate_baseline() {
  local code=0
  [ -n "$baseline" ] || baseline=$(find_baseline "$1") || exit 6
  measure ./attnbench gate --device cuda --quick --baseline "$baseline" --json "$out/new.json" || code=$?
  add "$code"
}

prepare() {
  mkdir -p "$out" || exit 8
  claim_outputs
  work=$(mktemp -d "$(cd "$out" && pwd)/.work.XXXXXX") || exit 8
  trap clean_up EXIT
}

main() {
  parse "$@"
  if ! have_gpu; then
    say "no GPU here"
    [ "$skip" -eq 1 ] || exit 77
    echo "::notice title=attnbench::no GPU here, nothing was measured"
    exit 0
  fi
  prepare
  local revision='' steered=0 outcome=0
  say "building what is checked out"
  "$MAKE" all || {
    say "the checked-out revision does not build"
    exit 9
  }
  if revision=$(base_revision); then
    tell_of_changes "$revision"
    take_sweep "$revision"
    say "building the base, $revision"
  fi
  if [ -n "$revision" ] && build_revision "$revision" base "$out/base-build.log"; then
    gate_base
    [ -z "$anchor" ] || gate_anchor
  else
    gate_baseline "${revision:-HEAD}"
  fi
  exit "$(worse "$outcome" "$steered")"
}

main "$@"
