#!/usr/bin/env bash
# A step of git bisect: is the commit that is checked out slower than a good one? `attnbench history --bisect` prints the
# command that runs this for a slowdown that it found. By hand:
#
#   step=$(cat scripts/bisect.sh) && git bisect start BAD GOOD
#   git bisect run bash -c "$step" bisect.sh --good GOOD OPTIONS
#
#   --good COMMIT   the commit to compare with; its program is built once and judges
#   OPTIONS         of attnbench ab: --shape KEY --variants NAME --modes hot --threshold PERCENT
#
# It is run as a text because the commits on the way may not have this file. MAKE and GENCODE (of the Makefile) are passed on
# to the builds. Ends with 0 (as fast), 1 (slower), 125 (git bisect skips the commit: it does not build, or noise leaves it
# undecided), or 128 and above (git bisect stops: the good commit does not build, there is no GPU, it was interrupted).
set -euo pipefail
if [ $# -lt 2 ] || [ "$1" != --good ]; then
  echo 'bisect: usage: bisect.sh --good COMMIT OPTIONS OF attnbench ab' >&2
  exit 128
fi
good=$2
shift 2
cd "$(git rev-parse --show-toplevel)"
MAKE=${MAKE:-make}
build=(nice "$MAKE" -s "-j$(getconf _NPROCESSORS_ONLN)")
commit=$(git rev-parse --verify --quiet "$good^{commit}") || {
  echo "bisect: $good is no commit of this clone" >&2
  exit 128
}
base=$(git rev-parse --absolute-git-dir)/attnbench-bisect/$commit
log=${base%/*}/build.log
mkdir -p "${base%/*}"

if [ ! -x "$base/attnbench" ]; then
  rm -rf "$base"
  git clone -q --shared --no-checkout . "$base"
  git -C "$base" checkout -q --detach "$commit"
  "${build[@]}" -C "$base" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    echo "bisect: the good commit $good does not build; $log has the rest" >&2
    rm -f "$base/attnbench"
    exit 128
  }
fi
# make may leave the program of another commit where this one does not build.
rm -f attnbench
if ! "${build[@]}" >"$log" 2>&1 || [ ! -x attnbench ]; then
  echo "bisect: this commit does not build; $log says why" >&2
  exit 125
fi
code=0
"$base/attnbench" ab --base "$base/attnbench" --candidate ./attnbench "$@" || code=$?
case $code in
  0 | 1) exit "$code" ;;
  77) exit 128 ;;
  12[89] | 1[3-9]? | 2??) exit "$code" ;;
  *) exit 125 ;;
esac
