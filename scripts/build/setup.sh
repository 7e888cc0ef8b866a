#!/usr/bin/env bash
# Installs what attnbench needs on Debian or Ubuntu. Needs bash and apt-get, not even make.
#
#   setup.sh build    what building needs
#   setup.sh test     what building and testing need (the default)
#   setup.sh gpu      what building and the GPU tests need
#   setup.sh python   prints the python3 that tests use, preferring one that has jsonschema; installs nothing
#
# Does nothing, and touches no network, when everything is there. Missing packages come from apt-get when this runs as
# root or when sudo asks for no password; otherwise the command to type is printed and the exit status is 1. The tests
# that need an optional package are skipped where it cannot be installed. CUDA is never installed.
set -euo pipefail

# package | levels that need it; in parentheses: optional there | command that succeeds when the package is there
needs() {
  cat <<'TABLE'
gcc|build test gpu|command -v "${CC:-gcc}"
g++|build test gpu|command -v "${CXX:-g++}"
libc6-dev|build test gpu|echo '#include <stdlib.h>' | "${CC:-gcc}" -fsyntax-only -xc -
make|build test gpu|command -v make
pkg-config|build test gpu|[ -n "${CJSON_LIBS:-}" ] || command -v "${PKG_CONFIG:-pkg-config}"
libcjson-dev|build test gpu|[ -n "${CJSON_LIBS:-}" ] || "${PKG_CONFIG:-pkg-config}" --exists libcjson
libcmocka-dev|test|printf '#include <%s.h>\n' stdarg stddef setjmp stdint cmocka | "${CC:-gcc}" ${CMOCKA_CFLAGS:-} -fsyntax-only -xc -
bats|test gpu|command -v "${BATS:-bats}"
python3|test gpu|find_python
python3-jsonschema|(test) (gpu)|"$(find_python)" -c 'import jsonschema'
git|(test)|command -v git
TABLE
}

# A python3 earlier in PATH may lack the modules that the distribution's has. The answer is the interpreter itself:
# what is in PATH may be a slow wrapper.
find_python() {
  local modules candidate
  for modules in json,jsonschema json; do
    for candidate in ${ATTN_PYTHON:-} /usr/bin/python3 python3; do
      "$candidate" -c "import sys, $modules; print(sys.executable)" 2>/dev/null && return
    done
  done
  return 1
}
export -f find_python

# missing_packages LEVEL: the packages that are needed and not there; with "(LEVEL)" the optional ones.
missing_packages() {
  local level=$1 package levels probe
  while IFS='|' read -r package levels probe; do
    [[ " $levels " == *" $level "* ]] || continue
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
  local patience=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=1 -o Acquire::http::Timeout=30)
  # A source that cannot be refreshed must not stop the others from being used.
  as_root apt-get update -q "${patience[@]}" || echo "setup: apt-get update failed; trying to install all the same" >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${patience[@]}" "$@"
}

# command_to_type PACKAGES...: what installs them.
command_to_type() {
  local sudo="sudo "
  [ "$(id -u)" -ne 0 ] || sudo=""
  echo "  ${sudo}apt-get update && ${sudo}apt-get install -y --no-install-recommends $*"
}

refuse() {
  echo "setup: $1: ${*:2}" >&2
  if [ "$(id -u)" -ne 0 ]; then
    echo "setup: nothing was built. Type this, or have an administrator type it, then start again:" >&2
  else
    echo "setup: nothing was built. Type this, then start again:" >&2
  fi
  command_to_type "${@:2}" >&2
  exit 1
}

tell_about_cuda() {
  [ "${CUDA:-auto}" != 0 ] || return 0
  [ -z "${NVCC:-}" ] || return 0
  PATH=${CUDA_HOME:+$CUDA_HOME/bin:}$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null && return 0
  echo "setup: nvcc was not found, so GPU variants are planned but not run. The CUDA toolkit (12.1 or newer) is at" \
    "https://developer.nvidia.com/cuda-downloads; if it is installed elsewhere, set CUDA_HOME=/path/to/cuda"
}

main() {
  local level=${1:-test} required optional
  case $level in
    python)
      find_python
      return
      ;;
    build | test | gpu) ;;
    *)
      echo "usage: ${0##*/} build|test|gpu|python" >&2
      exit 2
      ;;
  esac
  mapfile -t required < <(missing_packages "$level")
  mapfile -t optional < <(missing_packages "($level)")
  if [ ${#required[@]} -gt 0 ]; then
    can_install || refuse "these packages are missing" "${required[@]}" "${optional[@]}"
    echo "setup: installing ${required[*]}"
    install "${required[@]}" || refuse "apt-get could not install" "${required[@]}"
    mapfile -t required < <(missing_packages "$level")
    [ ${#required[@]} -eq 0 ] || refuse "installed, but still not usable" "${required[@]}"
  fi
  if [ ${#optional[@]} -gt 0 ]; then
    echo "setup: installing ${optional[*]} (optional)"
    if ! can_install || ! install "${optional[@]}"; then
      echo "setup: not installed: ${optional[*]}; the tests that need it are skipped. To have them too, type:" >&2
      command_to_type "${optional[@]}" >&2
    fi
  fi
  tell_about_cuda
}

main "$@"
