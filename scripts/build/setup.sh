#!/usr/bin/env bash
# Makes sure that building (`setup.sh build`) or building and testing (`setup.sh test`) can work on Debian or Ubuntu.
# Does nothing, and touches no network, when everything is there. Missing packages are installed through apt-get as
# root or with a sudo that asks no password; otherwise the command to type is printed and the exit status is 1.
# CUDA is never installed.
set -euo pipefail

# package | rungs that need it | command that succeeds when it is there
needs() {
  cat <<'TABLE'
gcc|build test|command -v "${CC:-gcc}"
g++|build test|command -v "${CXX:-g++}"
make|build test|command -v make
pkg-config|build test|command -v pkg-config
libcjson-dev|build test|[ -n "${CJSON_LIBS:-}" ] || pkg-config --exists libcjson
libcmocka-dev|test|echo '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <cmocka.h>' | sed 's/\\n/\n/g' | "${CC:-gcc}" -fsyntax-only -xc -
bats|test|command -v "${BATS:-bats}"
python3-jsonschema|test|/usr/bin/python3 -c 'import jsonschema' || python3 -c 'import jsonschema'
TABLE
}

missing_packages() {
  local rung=$1 package rungs probe
  while IFS='|' read -r package rungs probe; do
    [[ " $rungs " == *" $rung "* ]] || continue
    bash -c "$probe" >/dev/null 2>&1 </dev/null || printf '%s\n' "$package"
  done < <(needs)
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
  command -v apt-get >/dev/null || return 1
  [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null
}

install() {
  # A foreign source that cannot be refreshed must not stop what the distribution has.
  as_root apt-get update -q || echo "setup: apt-get update failed; trying to install all the same" >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 "$@"
}

tell_about_cuda() {
  [ "${CUDA:-auto}" != 0 ] || return 0
  [ -z "${NVCC:-}" ] || return 0
  PATH=${CUDA_HOME:+$CUDA_HOME/bin:}$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null && return 0
  echo "setup: no nvcc, so GPU variants are planned and not run; the CUDA toolkit (12.0 or newer) is at" \
    "https://developer.nvidia.com/cuda-downloads, and CUDA_HOME=/path names one elsewhere"
}

main() {
  local rung=${1:-test}
  case $rung in
    build | test) ;;
    *)
      echo "usage: ${0##*/} build|test" >&2
      exit 2
      ;;
  esac
  local packages
  mapfile -t packages < <(missing_packages "$rung")
  if [ ${#packages[@]} -gt 0 ]; then
    if ! can_install; then
      echo "setup: missing ${packages[*]}; type:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y ${packages[*]}" >&2
      exit 1
    fi
    echo "setup: installing ${packages[*]}"
    install "${packages[@]}"
    mapfile -t packages < <(missing_packages "$rung")
    if [ ${#packages[@]} -gt 0 ]; then
      echo "setup: installed, but still not usable: ${packages[*]}" >&2
      exit 1
    fi
  fi
  tell_about_cuda
}

main "$@"
