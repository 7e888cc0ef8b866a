#!/usr/bin/env bash
# Builds the Debian package of the last commit with dpkg-buildpackage:
#
#   scripts/package/debian.sh [FOLDER]      the package goes there; default: build/debian
#
# The build runs in a copy of the sources, into which scripts/package/debian goes as debian/; changes that are not
# committed are left out, and said so. With nvcc (12.1 or newer) the package has the GPU variants; CUDA=0 builds without.
# Needs build-essential, debhelper, libcjson-dev and pkg-config. Prints the package's path. Exit status: that of
# dpkg-buildpackage.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() { printf 'debian.sh: %s\n' "$*" >&2; exit 1; }

# version: that of the Makefile where the commit has its tag or there is no git, else one that comes before it.
version() {
  local number
  number=$(sed -n 's/^VERSION := //p' Makefile)
  if [ ! -e .git ] || [ "$(git tag --points-at HEAD "v$number")" = "v$number" ]; then
    printf '%s\n' "$number"
  else
    printf '%s~git%s.%s\n' "$number" "$(git log -1 --date=format:%Y%m%d --format=%cd)" "$(git rev-parse --short HEAD)"
  fi
}

# A clone, so that the program names its commit; sources without git are copied.
copy_sources() {
  if [ -e .git ]; then
    git diff --quiet HEAD -- || echo "debian.sh: changes that are not committed are left out" >&2
    git clone -q --no-hardlinks . "$1"
  else
    mkdir "$1"
    tar -c --exclude=./build --exclude=./attnbench . | tar -x -C "$1"
  fi
}

main() {
  local folder=${1:-build/debian} work
  for tool in dpkg-buildpackage dh; do
    command -v "$tool" >/dev/null ||
      fail "$tool is missing; as root: apt-get install build-essential debhelper libcjson-dev pkg-config"
  done
  mkdir -p "$folder"
  folder=$(realpath "$folder")
  work=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder's name is known now
  trap "rm -rf '$work'" EXIT
  copy_sources "$work/attnbench"
  cp -r scripts/package/debian "$work/attnbench/debian"
  cp LICENSE "$work/attnbench/debian/copyright"
  printf 'attnbench (%s) unstable; urgency=medium\n\n  * CHANGELOG.md says what changed.\n\n -- %s  %s\n' "$(version)" \
    "$(sed -n 's/^Maintainer: //p' scripts/package/debian/control)" "$(date -R)" >"$work/attnbench/debian/changelog"
  (cd "$work/attnbench" && dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes) >&2
  cp "$work"/attnbench_*.deb "$folder"
  ls "$folder"/attnbench_"$(version)"_*.deb
}

main "$@"
