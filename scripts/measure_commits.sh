#!/usr/bin/env bash
# The history of this repository, measured now: builds old commits, measures each on one card, and shows their speed.
#
#   scripts/measure_commits.sh [--out FOLDER] [--last N] [--of M] [--sweep FILE] [--build | --measure] [-- OPTIONS]
#
#   --out FOLDER   where programs/, runs/, commits and history.html go; default build/history
#   --last N       so many commits, evenly spread over the last M of the first parents of HEAD, HEAD included; default 20
#   --of M         default 200
#   --sweep FILE   what is measured; by default shapes/gate.json as the oldest of the commits has it, else its shapes/v3.json
#   --build        build only, for another machine; --measure: measure what was built there, without git or a compiler
#   -- OPTIONS     of attnbench run, such as --filter D=64 --device cpu; the default is --rounds 3 --quick
#
# Commits that do not build, or whose program cannot measure the sweep, are left out and named. Warnings of a newer compiler do
# not stop a build. The commits are measured in a random order, so that a card that slows down is no slope of the history.
# MAKE and GENCODE (of the Makefile) are passed on. Ends with the exit code of `attnbench history`.
set -euo pipefail
export LC_ALL=C
MAKE=${MAKE:-make}
out=build/history last=20 of=200 sweep='' build=1 measure=1
options=(--rounds 3 --quick)

while [ $# -gt 0 ]; do
  case $1 in
    --out) out=${2:?--out needs a value} && shift 2 ;;
    --last) last=${2:?--last needs a value} && shift 2 ;;
    --of) of=${2:?--of needs a value} && shift 2 ;;
    --sweep) sweep=${2:?--sweep needs a value} && shift 2 ;;
    --build) measure=0 && shift ;;
    --measure) build=0 && shift ;;
    --help | -h) sed -n '2,/^set -/{/^set -/d; s/^# \{0,1\}//; p;}' "$0" && exit 0 ;;
    --) shift && options=("$@") && break ;;
    *) echo "measure_commits: $1 is not understood; --help" >&2 && exit 2 ;;
  esac
done
mkdir -p "$out/programs" "$out/runs"
out=$(cd "$out" && pwd)
[ -z "$sweep" ] || sweep=$(realpath -- "$sweep")

# The chosen commits, oldest first.
choose() {
  git rev-list --first-parent --max-count="$of" HEAD | tac | awk -v last="$last" '
    { line[NR] = $0 }
    END {
      if (last > NR) last = NR
      for (i = 1; i <= last; ++i) print line[last == 1 ? NR : 1 + int((i - 1) * (NR - 1) / (last - 1) + 0.5)]
    }'
}

build_one() {
  local commit=$1 tree
  if [ -x "$out/programs/$commit" ]; then return 0; fi
  tree=$(mktemp -d)
  git clone -q --shared --no-checkout . "$tree/clone" && git -C "$tree/clone" checkout -q --detach "$commit" &&
    nice "$MAKE" -s -C "$tree/clone" WERROR=0 "-j$(getconf _NPROCESSORS_ONLN)" >"$out/programs/$commit.log" 2>&1 &&
    cp -L "$tree/clone/attnbench" "$out/programs/$commit" || echo "measure_commits: ${commit:0:12} does not build" >&2
  rm -rf "$tree"
}

if [ "$build" = 1 ]; then
  cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
  choose >"$out/commits"
  oldest=$(head -n 1 "$out/commits")
  if [ -n "$sweep" ]; then
    cp "$sweep" "$out/sweep.json"
  else
    git show "$oldest:shapes/gate.json" >"$out/sweep.json" 2>/dev/null || git show "$oldest:shapes/v3.json" >"$out/sweep.json"
  fi
  while read -r commit; do build_one "$commit"; done <"$out/commits"
fi
[ "$measure" = 1 ] || exit 0

shuf "$out/commits" | while read -r commit; do
  if [ -e "$out/runs/$commit.json" ] || [ ! -x "$out/programs/$commit" ]; then continue; fi
  code=0
  "$out/programs/$commit" --sweep "$out/sweep.json" "${options[@]}" --json "$out/runs/$commit.json" >/dev/null 2>"$out/programs/$commit.err" </dev/null || code=$?
  # 3 and 4: a cell is wrong or missing, the others are history all the same.
  case $code in 0 | 3 | 4) continue ;; esac
  echo "measure_commits: ${commit:0:12} was not measured, exit code $code: $(grep -v 'done in' "$out/programs/$commit.err" | head -n 1)" >&2
done
newest=$(while read -r commit; do [ ! -x "$out/programs/$commit" ] || echo "$commit"; done <"$out/commits" | tail -n 1)
exec "$out/programs/$newest" history "$out/runs" --commits "$out/commits" --html "$out/history.html" --csv "$out/history.csv"
