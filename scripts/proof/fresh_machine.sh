#!/usr/bin/env bash
# Proves that README's two commands work on a machine that has a shell and apt only, and so do the Debian package, the
# steps of the Dockerfile, and completion in other shells: makes minimal Debian roots with debootstrap, puts the sources
# in, and runs the commands there.
#
#   sudo scripts/proof/fresh_machine.sh [CASE...]      default: all cases
#
#   root-tarball   as root, from an archive without .git, on a CPU with a long name: run, then test
#   sudo-clone     as a user whose sudo asks for no password, from a git clone, in a directory of their own, on a CPU whose
#                  name is one letter: run, then test
#   user           as a user without sudo: ends with the command to type and builds nothing; works once that was typed
#   package        scripts/package/debian.sh in one root; its package installed, run and removed in another
#   image          the RUN steps of scripts/package/Dockerfile, without CUDA, in roots in the place of its two stages
#   shells         completion as zsh and fish themselves read it
#
# Takes minutes and 1 GB per case in WORK, which is removed at the end unless KEEP=1. Environment: WORK (default: a new
# folder in TMPDIR), MIRROR (default http://deb.debian.org/debian), SUITE (default bookworm), TEST=0 (leave out `make
# test`). Exit status: 0 when every case ended as it should.
# shellcheck disable=SC2016,SC2317,SC2329  # cases are called by name; what is in quotes is for the shells of the roots
set -euo pipefail
cd "$(dirname "$0")/../.."

MIRROR=${MIRROR:-http://deb.debian.org/debian}
SUITE=${SUITE:-bookworm}
RUN_LINE='scripts/build/setup.sh build && make run'
TEST_LINE='scripts/build/setup.sh && make test'
failed=0

say() { printf '%s: %s\n' "${0##*/}" "$*"; }

# The whole root once; every case works in a copy.
make_base() {
  BASE=$WORK/base
  [ -e "$BASE/etc/debian_version" ] || debootstrap --variant=minbase "$SUITE" "$BASE" "$MIRROR" >"$WORK/debootstrap.log"
}

# in_root ROOT USER COMMAND: a clean environment, an unusual locale, no terminal, a HOME that is not there, and a CPU of
# the name CPU_NAME.
in_root() {
  local root=$1 user=$2
  shift 2
  sed "s/^model name.*/model name\t: ${CPU_NAME:-X}/" /proc/cpuinfo >"$root/cpuinfo"
  unshare --mount --pid --fork chroot "$root" /bin/sh -c \
    'mount -t proc proc /proc; mount --bind /cpuinfo /proc/cpuinfo; exec "$@"' sh \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/nowhere LANG=de_DE.UTF-8 \
    setpriv --reuid="$user" --regid="$user" --clear-groups bash -c "cd /src/attnbench && $*" </dev/null
}

# new_root CASE: a root with the sources at /src/attnbench, owned by user 1000.
new_root() {
  ROOT=$WORK/$1
  rm -rf --one-file-system "$ROOT"
  cp -a "$BASE" "$ROOT"
  cp /etc/resolv.conf "$ROOT/etc/resolv.conf"
  echo 'someone:x:1000:1000::/nowhere:/bin/bash' >>"$ROOT/etc/passwd"
  echo 'someone:x:1000:' >>"$ROOT/etc/group"
  echo 'someone:*:19000:0:99999:7:::' >>"$ROOT/etc/shadow" # sudo refuses an account without one
  mkdir -p "$ROOT/src"
}
put_archive() {
  mkdir "$ROOT/src/attnbench"
  git archive HEAD | tar -x -C "$ROOT/src/attnbench"
}
put_clone() { git clone -q --no-hardlinks . "$ROOT/src/attnbench"; }

# expect CASE WHAT STATUS LAST COMMAND...: the command ends with that status, and a line of its last ten matches LAST.
expect() {
  local name=$1 what=$2 wanted=$3 last=$4 log code=0
  shift 4
  log=$WORK/$name-$what.log
  say "$name: $what (log in $log)"
  "$@" >"$log" 2>&1 || code=$?
  tail -n 3 "$log" | sed 's/^/    /'
  if [ "$code" -ne "$wanted" ] || ! tail -n 10 "$log" | grep -qE -e "$last"; then
    say "$name: $what FAILED: status $code, expected $wanted and a last line like: $last"
    failed=1
  fi
}

# both CASE USER: README's commands.
both() {
  expect "$1" run 0 '^[0-9]+ of [0-9]+ cells|planned|ok' in_root "$ROOT" "$2" "$RUN_LINE"
  [ "${TEST:-1}" = 0 ] || expect "$1" test 0 '^[0-9]+ passed, 0 failed, [0-9]+ skipped$' in_root "$ROOT" "$2" "$TEST_LINE"
}

case_root_tarball() {
  local CPU_NAME='A Processor(R) With a Name(TM) Longer Than Any Table Column 9999WX 128-Core @ 3.00GHz'
  new_root root-tarball
  put_archive
  both root-tarball 0
}

case_sudo_clone() {
  new_root sudo-clone
  put_clone
  in_root "$ROOT" 0 'apt-get update -q && apt-get install -q -y --no-install-recommends sudo' >"$WORK/sudo.log" 2>&1
  echo 'someone ALL=(ALL) NOPASSWD: ALL' >"$ROOT/etc/sudoers.d/someone"
  chown -R 1000:1000 "$ROOT/src"
  both sudo-clone 1000
}

case_user() {
  new_root user
  put_archive
  chown -R 1000:1000 "$ROOT/src"
  expect user refused 1 'apt-get install -y' in_root "$ROOT" 1000 "$TEST_LINE"
  [ ! -e "$ROOT/src/attnbench/build" ] || { say "user: something was built"; failed=1; }
  # What it told to type, typed by root.
  local command
  command=$(grep -m 1 'apt-get install' "$WORK/user-refused.log" | sed 's/sudo //g')
  expect user typed 0 . in_root "$ROOT" 0 "$command"
  expect user run 0 '^[0-9]+ of [0-9]+ cells|planned|ok' in_root "$ROOT" 1000 "$RUN_LINE"
}

# What is left of it in a root once it was removed.
leftovers() { find "$1/usr" "$1/etc" "$1/var/lib/attnbench" -name '*attnbench*' 2>/dev/null || true; }

case_package() {
  local builder deb
  new_root package-builder
  builder=$ROOT
  put_clone
  in_root "$builder" 0 'apt-get update -q && apt-get install -q -y --no-install-recommends build-essential debhelper git libcjson-dev pkg-config' \
    >"$WORK/package-tools.log" 2>&1
  chown -R 1000:1000 "$builder/src"
  expect package build 0 'attnbench_.*_.*\.deb$' in_root "$builder" 1000 'scripts/package/debian.sh build/debian'
  deb=$(echo "$builder"/src/attnbench/build/debian/attnbench_*.deb)
  new_root package
  mkdir "$ROOT/src/attnbench"
  cp "$deb" "$ROOT/src/attnbench/attnbench.deb" || return 0
  expect package install 0 'Setting up attnbench' in_root "$ROOT" 0 \
    'apt-get update -q && apt-get install -q -y --no-install-recommends ./attnbench.deb'
  expect package run 0 '[1-9][0-9]* ok' in_root "$ROOT" 1000 'attnbench --sweep smoke --device cpu --check-only'
  expect package files 0 '^/usr/share/pkgconfig/attnbench.pc$' in_root "$ROOT" 1000 \
    'ls /usr/share/man/man1/attnbench.1.gz /usr/share/attnbench/schema/report.schema.json /usr/share/pkgconfig/attnbench.pc'
  expect package purge 0 'Removing attnbench' in_root "$ROOT" 0 'apt-get purge -q -y attnbench'
  [ -z "$(leftovers "$ROOT")" ] || { say "package: left behind: $(leftovers "$ROOT")"; failed=1; }
}

# Its RUN steps, a line each.
image_steps() { sed -e ':a' -e '/\\$/N; s/\\\n//; ta' scripts/package/Dockerfile | sed -n 's/^RUN //p'; }

case_image() {
  local stage steps
  mapfile -t steps < <(image_steps)
  new_root image-build
  stage=$ROOT
  put_archive
  expect image packages 0 . in_root "$stage" 0 "${steps[0]}"
  expect image build 0 'attnbench.pc$' in_root "$stage" 0 "${steps[1]/CUDA=1/CUDA=0}"
  new_root image
  mkdir "$ROOT/src/attnbench"
  expect image runtime 0 . in_root "$ROOT" 0 "${steps[2]}"
  cp -a "$stage/out/usr/." "$ROOT/usr/"
  expect image run 0 '[1-9][0-9]* ok' in_root "$ROOT" 1000 'attnbench --sweep smoke --device cpu --check-only'
  expect image script 0 --attnbench in_root "$ROOT" 1000 '/usr/share/attnbench/scripts/sdpa_baseline.py --help'
}

# fish looks in /usr/local where the session says so, as those of desktops do.
fish_completes() {
  in_root "$ROOT" 1000 "HOME=/tmp XDG_DATA_DIRS=/usr/local/share:/usr/share fish -c 'complete -C \"$1\"'"
}

# What the shells make of our scripts: zsh and fish are loaded with them and asked for completions of a few words.
case_shells() {
  new_root shells
  put_archive
  in_root "$ROOT" 0 'apt-get update -q && apt-get install -q -y --no-install-recommends gcc g++ libc6-dev libcjson-dev make pkg-config zsh fish' \
    >"$WORK/shells-tools.log" 2>&1
  expect shells build 0 . in_root "$ROOT" 0 'make CUDA=0 install'
  expect shells fish-verbs 0 '^diagnose' fish_completes 'attnbench d'
  expect shells fish-options 0 '^--sweep' fish_completes 'attnbench plan --sw'
  expect shells fish-values 0 '^h200' fish_completes 'attnbench plan --gpu h2'
  expect shells zsh 0 '^_attnbench loaded$' in_root "$ROOT" 1000 \
    'zsh -f -c "autoload -Uz compinit; compinit -D; autoload -Uz +X _attnbench && print \$_comps[attnbench] loaded"'
}

main() {
  [ "$(id -u)" -eq 0 ] || { say "needs root, for debootstrap and chroot"; exit 2; }
  command -v debootstrap >/dev/null || { say "needs debootstrap: apt-get install debootstrap"; exit 2; }
  local name
  WORK=${WORK:-$(mktemp -d "${TMPDIR:-/tmp}/fresh-machine.XXXXXX")}
  mkdir -p "$WORK"
  [ "${KEEP:-0}" = 1 ] || trap 'rm -rf --one-file-system "$WORK"' EXIT
  [ $# -gt 0 ] || set -- root-tarball sudo-clone user package image shells
  make_base
  for name; do
    case $name in
      root-tarball | sudo-clone | user | package | image | shells) "case_${name//-/_}" ;;
      *)
        say "$name is not a case; there are root-tarball, sudo-clone, user, package, image and shells"
        exit 2
        ;;
    esac
  done
  [ "$failed" -ne 0 ] || say "every case ended as it should"
  exit "$failed"
}

main "$@"
