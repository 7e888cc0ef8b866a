#!/usr/bin/env bash
# A step of git bisect: is the commit that is checked out slower than a good one? `attnbench history --bisect` prints the
# command that runs this for a slowdown that it found. By hand:
#
#   step=$(cat scripts/bisect.sh) && git bisect start BAD GOOD
#   git bisect run bash -c "$step" bisect.sh --good GOOD OPTIONS
#
#   --good COMMIT   the commit to compare with; it is built once
#   --kernel FILE   the commits are those of another repository, whose FILE (mine.so, mine.py:attention) attnbench loads
#   --build COMMAND builds FILE, in the root of that repository; without it nothing is built
#   OPTIONS         of attnbench ab: --shape KEY --variants NAME --modes hot --threshold PERCENT
#
# Without --kernel the commits are attnbench's own, and `ab` of the good commit's program measures and compares. With --kernel
# that of the program $ATTNBENCH does, or of attnbench from PATH. git gets the text of this script, since older commits may not have the file. MAKE and
# GENCODE (of the Makefile) are passed on to the builds. Ends with 0 (as fast), 1 (slower), 125 (git bisect skips the
# commit: it does not build, its kernel fails, or noise leaves it undecided), or 128 and above (git bisect stops: the good commit
# does not build, there is no GPU, attnbench is missing or does not understand its options, it was interrupted).
set -euo pipefail
good='' kernel='' build=''
while [ $# -ge 2 ]; do
  case $1 in
    --good) good=$2 ;;
    --kernel) kernel=$2 ;;
    --build) build=$2 ;;
    *) break ;;
  esac
  shift 2
done
if [ -z "$good" ] || { [ -n "$build" ] && [ -z "$kernel" ]; }; then
  echo 'bisect: usage: bisect.sh --good COMMIT [--kernel FILE [--build COMMAND]] OPTIONS OF attnbench ab' >&2
  exit 128
fi
cd "$(git rev-parse --show-toplevel)"
MAKE=${MAKE:-make}
product=${kernel:-attnbench}
file=${product%:*}

# build_in FOLDER: makes the product there.
build_in() {
  if [ -n "$kernel" ]; then
    (cd "$1" && bash -c "${build:-true}") >"$log" 2>&1
  else
    nice "$MAKE" -s "-j$(getconf _NPROCESSORS_ONLN)" -C "$1" >"$log" 2>&1
  fi && [ -e "$1/$file" ]
}

commit=$(git rev-parse --verify --quiet "$good^{commit}") || {
  echo "bisect: $good is no commit of this clone" >&2
  exit 128
}
base=$(git rev-parse --absolute-git-dir)/attnbench-bisect/$commit
log=${base%/*}/build.log
mkdir -p "${base%/*}"

if [ ! -e "$base.built" ]; then
  rm -rf "$base"
  git clone -q --shared --no-checkout . "$base"
  git -C "$base" checkout -q --detach "$commit"
  build_in "$base" || {
    tail -n 5 "$log" >&2
    echo "bisect: the good commit $good does not build; $log has the rest" >&2
    exit 128
  }
  : >"$base.built"
fi
# A build may leave the product of another commit where this one does not build.
git ls-files --error-unmatch "$file" >/dev/null 2>&1 || rm -f "$file"
if ! build_in .; then
  echo "bisect: this commit does not build; $log says why" >&2
  exit 125
fi
sides=(--base "$base/attnbench" --candidate ./attnbench)
[ -z "$kernel" ] || sides=(--base-load "$base/$kernel" --load "$PWD/$kernel")
judge=$base/attnbench
[ -z "$kernel" ] || judge=${ATTNBENCH:-attnbench}
code=0
"$judge" ab "${sides[@]}" "$@" || code=$?
case $code in
  0 | 1) exit "$code" ;;
  77) exit 128 ;;
  2 | 126 | 127)
    echo "bisect: attnbench ab ended with $code: nothing was compared, since its options are wrong or the program cannot run" >&2
    exit 128
    ;;
  12[89] | 1[3-9]? | 2??) exit "$code" ;;
  *) exit 125 ;;
esac
