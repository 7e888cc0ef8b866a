# The build and its checks: each must be able to fail, and say what to do.
load helper

setup() {
  # The make that runs these tests must not steer the makes under test.
  unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CUDA SANITIZE V
}

# A tree that the lint passes, to plant one offence in.
lint_tree() {
  mkdir -p "$TMP/tree/scripts" "$TMP/tree/tests"
  cp -r cli kernels "$TMP/tree/"
  export ATTN_ROOT=$TMP/tree
}
expect_lint_failure() {
  capture scripts/build/check_layers.sh
  expect_status 1
  expect_out "not ok - $1"
  expect_out "$2"
}

# ptxas_report FILE KERNEL SPILLED [ARCH]: what ptxas -v says of one kernel.
ptxas_report() {
  cat >"$TMP/$1" <<EOF
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '$2' for '${4:-sm_90a}'
ptxas info    : Function properties for $2
    48 bytes stack frame, $3 bytes spill stores, $3 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 1024 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 1.491 ms
EOF
}

@test "make CUDA=1 without nvcc says how to get it or do without" {
  capture make CUDA=1 NVCC=
  expect_status 2
  expect_err "CUDA_HOME="
  expect_err "make CUDA=0"
}

@test "an unknown value of CUDA is refused" {
  capture make CUDA=yes
  expect_status 2
  expect_err "use CUDA=auto, CUDA=0 or CUDA=1"
}

@test "missing cJSON names make setup and the package" {
  capture make CUDA=0 PKG_CONFIG=false
  expect_status 2
  expect_err "make setup"
  expect_err "libcjson-dev"
}

@test "a compiler that set-up has yet to install is not complained about" {
  capture make CUDA=0 CC=no-such-cc CXX=no-such-cxx print-BUILD
  expect_status 0
  expect_no_err
  expect_out_matches '^build/host-'
}

@test "clang takes what is written for gcc" {
  command -v clang >/dev/null || skip "no clang here"
  capture clang -std=c11 -D_GNU_SOURCE -I. -Wall -Wextra -Werror -fsyntax-only kernels/*.c kernels/cpu/*.c kernels/cuda/*.c
  expect_status 0
}

@test "make help lists the targets" {
  capture make help
  expect_status 0
  for target in all run test test-gpu setup lint format format-check asan install clean; do
    expect_out_matches "^  $target +[^ ]"
  done
}

@test "configurations have folders of their own" {
  [ "$(make CUDA=0 print-BUILD)" != "$(make CUDA=0 SANITIZE=address print-BUILD)" ]
  [ "$(make CUDA=0 print-BUILD)" != "$(make CUDA=0 CFLAGS=-O1 print-BUILD)" ]
  [ "$(make CUDA=0 print-BUILD)" = "$(make CUDA=0 print-BUILD)" ]
}

# A folder of the tools that set-up needs, and no apt-get. python3 has every module, whichever the machine's has.
tools() {
  mkdir "$TMP/bin"
  for tool in bash sed gcc g++ make pkg-config id dirname cat env; do
    ln -s "$(command -v "$tool")" "$TMP/bin/$tool"
  done
  printf '#!/bin/sh\n' >"$TMP/bin/python3"
  chmod +x "$TMP/bin/python3"
}

@test "set-up installs what is missing and nothing else" {
  tools
  printf '#!/bin/sh\nshift\nexec "$@"\n' >"$TMP/bin/sudo"
  cat >"$TMP/bin/apt-get" <<EOF
#!/bin/sh
echo "\$*" >>"$TMP/apt.log"
case \$1 in install) : >"$TMP/bin/some-bats"; /bin/chmod +x "$TMP/bin/some-bats" ;; esac
EOF
  chmod +x "$TMP/bin/sudo" "$TMP/bin/apt-get"
  BATS=some-bats PATH=$TMP/bin capture scripts/build/setup.sh test
  expect_status 0
  [ "$(grep -c . "$TMP/apt.log")" -eq 2 ]
  grep -q '^update' "$TMP/apt.log"
  grep -q '^install .* bats$' "$TMP/apt.log"
  BATS=some-bats PATH=$TMP/bin capture scripts/build/setup.sh test
  expect_status 0
  [ "$(grep -c . "$TMP/apt.log")" -eq 2 ]
}

@test "set-up without apt prints the command to type" {
  tools
  BATS=$TMP/none PATH=$TMP/bin capture scripts/build/setup.sh test
  expect_status 1
  expect_err "apt-get install -y bats"
}

@test "lint sees a CUDA header in cli" {
  lint_tree
  echo '#include <cuda_runtime.h>' >>"$TMP/tree/cli/base/stats.c"
  expect_lint_failure "cli/ sees no CUDA" "cli/base/stats.c:"
}

@test "lint sees an include against the rooms" {
  lint_tree
  echo '#include "cli/report/report.h"' >>"$TMP/tree/cli/base/stats.h"
  expect_lint_failure "includes follow the rooms" "base must not include cli/report/report.h"
}

@test "lint sees a banned call but not its name in a comment or a longer name" {
  lint_tree
  echo '/* strcpy( */ // sprintf(' >>"$TMP/tree/cli/base/stats.c"
  echo 'int my_system(int);' >>"$TMP/tree/cli/base/stats.c"
  capture scripts/build/check_layers.sh
  refute_out "cli/base/stats.c:"
  echo 'void bad(char *a) { strcpy(a, "/* text"); }' >>"$TMP/tree/cli/base/stats.c"
  expect_lint_failure "no shell and no unbounded string call" "cli/base/stats.c:"
}

@test "lint sees a variant without its line" {
  lint_tree
  sed -i '/VARIANT(wmma)/d' "$TMP/tree/kernels/variants.def"
  expect_lint_failure "kernels/variants.def and kernels/variants/ agree" "defined but not listed: wmma"
}

@test "lint sees a variant's name in the host code" {
  lint_tree
  echo 'static const char *const favourite = "wmma";' >>"$TMP/tree/cli/base/stats.c"
  expect_lint_failure "no variant is named outside its own file" "cli/base/stats.c:"
}

@test "lint sees a long function" {
  lint_tree
  { echo 'int long_one(void) {' && yes '  ;' | head -n 60 && echo '}'; } >>"$TMP/tree/cli/base/stats.c"
  expect_lint_failure "no host function is longer than 60 lines" "62 lines: int long_one"
}

@test "the resource table holds what ptxas reported" {
  ptxas_report a.ptxas _Z1av 0
  capture scripts/build/kernel_resources.sh --c "$TMP/a.ptxas"
  expect_status 0
  expect_out '{"_Z1av", 9, 0, 72, 1024, 48},'
}

@test "a kernel that dladdr cannot name is refused" {
  ptxas_report a.ptxas _ZN12_GLOBAL__N__1aEv 0
  capture scripts/build/kernel_resources.sh --c "$TMP/a.ptxas"
  expect_status 1
  expect_err "internal linkage"
}

@test "one kernel symbol in two objects is refused" {
  ptxas_report a.ptxas _Z1av 0
  ptxas_report b.ptxas _Z1av 0
  capture scripts/build/kernel_resources.sh --c "$TMP/a.ptxas" "$TMP/b.ptxas"
  expect_status 1
  expect_err "is in $TMP/a.ptxas too"
}

@test "a spill fails, unless it is explained; an explanation without a spill fails too" {
  ptxas_report a.ptxas _Z4leakv 16
  export ALLOWED=$TMP/allowed
  : >"$ALLOWED"
  capture scripts/build/check_spills.sh "$TMP/a.ptxas"
  expect_status 1
  expect_out "not ok - leak()"
  printf '16\tleak()\tit is cold\n' >"$ALLOWED"
  capture scripts/build/check_spills.sh "$TMP/a.ptxas"
  expect_status 0
  ptxas_report a.ptxas _Z4leakv 0
  capture scripts/build/check_spills.sh "$TMP/a.ptxas"
  expect_status 1
  expect_out "no kernel spills any more"
}

@test "a spill on any architecture fails" {
  ptxas_report a.ptxas _Z4leakv 0
  ptxas_report b.ptxas _Z4leakv 16 sm_80
  ptxas_report c.ptxas _Z4calmv 0 sm_80
  capture scripts/build/check_spills.sh "$TMP"/[abc].ptxas
  expect_status 1
  expect_out "not ok - leak(): sm_80 72 registers, 1024 B shared, 16 B spilled; sm_90a 72"
  expect_out "ok - calm(): sm_80 72 registers, 1024 B shared, 0 B spilled"
}

@test "a remark that wgmma is serialised fails" {
  ptxas_report a.ptxas _Z1av 0
  echo "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized" >>"$TMP/a.ptxas"
  capture scripts/build/check_spills.sh "$TMP/a.ptxas"
  expect_status 1
  expect_out "not ok - ptxas serialises wgmma"
}
