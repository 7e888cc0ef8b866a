#!/usr/bin/env bash
# What a CI job runs to gate a change: builds the base revision and the checked-out one, measures both in turns on one
# GPU with `attnbench ab`, and ends with its exit code. A base that cannot be built, or is too old to take part, is
# replaced by the committed baseline of this GPU.
#
#   scripts/gate_ci.sh [--base REF] [--sweep FILE] [--baseline FILE] [--out FOLDER] [--skip-without-gpu] [-- OPTIONS]
#
#   --base REF           revision to compare with; by default BASE_REF, else origin/GITHUB_BASE_REF, else HEAD^
#   --sweep FILE         default shapes/gate.json
#   --baseline FILE      default: results/*/baseline/<sweep>.json of this GPU's name
#   --out FOLDER         where gate.json, gate.md, gate.xml, the reports and attnbench-base go; default build/gate
#   --skip-without-gpu   end with 0 where there is no GPU; without it with 77
#   -- OPTIONS           passed on, such as --threshold 3 --rounds 10 --noise=warn
#
# attnbench-base is the base's program: a row's command can be run again. gate.md is also appended to GITHUB_STEP_SUMMARY;
# annotations go to stdout. MAKE and GENCODE (of the Makefile) are passed on and apply to both builds. Exit codes:
# README.md; 9 when the checked-out revision does not build.
set -euo pipefail
cd "$(dirname "$0")/.."

MAKE=${MAKE:-make}
base='' sweep=shapes/gate.json baseline='' out=build/gate skip=0
options=()
worktree='' measuring=''

say() { printf 'gate: %s\n' "$*" >&2; }

usage() {
  say "$1"
  sed -n 's/^# \{0,1\}//; /gate_ci.sh \[/p' "$0" >&2
  exit 2
}

parse() {
  while [ $# -gt 0 ]; do
    case $1 in
      --base | --sweep | --baseline | --out)
        if [ $# -lt 2 ] || [ -z "$2" ]; then usage "$1 needs a value"; fi
        case $1 in
          --base) base=$2 ;;
          --sweep) sweep=$2 ;;
          --baseline) baseline=$2 ;;
          --out) out=$2 ;;
        esac
        shift 2
        ;;
      --skip-without-gpu) skip=1 && shift ;;
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

# Called by the trap.
# shellcheck disable=SC2317
remove_worktree() {
  [ -n "$worktree" ] || return 0
  git worktree remove --force "$worktree" 2>/dev/null || rm -rf "$worktree"
  git worktree prune
}

# Builds the base in a worktree beside this one; fails when it cannot be built or knows nothing of rounds.
build_base() {
  local revision=$1
  worktree=$(cd "$out" && pwd)/base
  git worktree prune
  git worktree add --force --detach --quiet "$worktree" "$revision" || return
  "$MAKE" -C "$worktree" all >"$out/base-build.log" 2>&1 || {
    say "base $revision does not build; the end of $out/base-build.log:"
    tail -n 5 "$out/base-build.log" >&2
    return 1
  }
  "$worktree/attnbench" --help | has -e ' --rounds ' || {
    say "base $revision is too old to be measured in rounds"
    return 1
  }
  cp "$worktree/attnbench" "$out/attnbench-base"
}

# The committed baseline of this sweep whose device has the name of the GPU that is here.
find_baseline() {
  local name file gpu
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
  name=$(basename "$sweep" .json)
  for file in results/*/baseline/"$name".json; do
    if [ -e "$file" ] && [ -n "$gpu" ] && grep -qF "\"$gpu\"" "$file"; then
      echo "$file"
      return
    fi
  done
  say "no base could be built and there is no results/*/baseline/$name.json for \"$gpu\": nothing to compare with"
  return 1
}

# Called by the traps: what measures would otherwise go on, and disturb the next gate on this GPU.
# shellcheck disable=SC2317
stop_measuring() {
  kill -TERM "$measuring" 2>/dev/null || true
  wait "$measuring" || true
  exit "$1"
}

# Runs attnbench with what every gate writes; its exit code is the gate's.
measure() {
  local code=0
  trap 'stop_measuring 130' INT
  trap 'stop_measuring 143' TERM
  ./attnbench "$@" --sweep "$sweep" --json "$out/new.json" --compare-json "$out/gate.json" --markdown "$out/gate.md" \
    --junit "$out/gate.xml" --annotations - ${options[@]+"${options[@]}"} &
  measuring=$!
  wait "$measuring" || code=$?
  trap - INT TERM
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -e "$out/gate.md" ]; then cat "$out/gate.md" >>"$GITHUB_STEP_SUMMARY"; fi
  return "$code"
}

main() {
  parse "$@"
  if ! have_gpu; then
    say "no GPU here"
    [ "$skip" -eq 1 ] || exit 77
    echo "::notice title=attnbench::no GPU here, nothing was measured"
    exit 0
  fi
  mkdir -p "$out" || exit 8
  rm -f "$out"/gate.* "$out"/new.json "$out"/base.json
  local revision code=0
  say "building what is checked out"
  "$MAKE" all || {
    say "the checked-out revision does not build"
    exit 9
  }
  trap remove_worktree EXIT
  if revision=$(base_revision) && say "building the base, $revision" && build_base "$revision"; then
    measure ab --base "$out/attnbench-base" --base-json "$out/base.json" || code=$?
  else
    [ -n "$baseline" ] || baseline=$(find_baseline) || exit 6
    say "comparing with the committed $baseline"
    measure --device cuda --quick --baseline "$baseline" || code=$?
  fi
  exit "$code"
}

main "$@"
