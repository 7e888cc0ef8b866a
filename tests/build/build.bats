# tags: builds
# The build and its checks: each must be able to fail, and say what to do.
load ../helper

setup() {
  # The make that runs these tests must not steer the makes under test.
  unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CUDA SANITIZE V
}

# stand_in NAME SHELL-TEXT: a program of that name, before all others in PATH.
stand_in() {
  mkdir -p "$TMP/bin"
  printf '#!/bin/sh\n%s\n' "$2" >"$TMP/bin/$1"
  chmod +x "$TMP/bin/$1"
  [[ $PATH == "$TMP/bin:"* ]] || PATH=$TMP/bin:$PATH
}

# A tree that the lint passes, to plant one offence in.
lint_tree() {
  mkdir -p "$TMP/tree/scripts" "$TMP/tree/tests"
  cp -r cli kernels "$TMP/tree/"
  export ATTN_ROOT=$TMP/tree
}
expect_offence() {
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
  must 2 capture make CUDA=1 NVCC=
  expect_err "CUDA_HOME="
  expect_err "make CUDA=0"
}

@test "an nvcc that is too old is refused with the release that is needed" {
  stand_in nvcc 'echo "Cuda compilation tools, release 12.0, V12.0.140"'
  must 2 capture make CUDA=1 NVCC=nvcc
  expect_err "nvcc 12.0 is older than 12.1"
}

@test "GENCODE=native builds for the GPUs of this machine, or for Hopper alone" {
  stand_in nvcc 'case $1 in --version) echo "release 13.0, V1" ;; --list-gpu-code) echo "sm_80 sm_90" ;; esac'
  stand_in nvidia-smi 'printf "8.9\\n8.0\\n8.9\\n"'
  local gencode=(make -s CUDA=1 NVCC=nvcc GENCODE=native print-NVCC_GENCODE)
  capture "${gencode[@]}"
  expect_out "-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_89,code=sm_89"
  [ "$(wc -w <"$OUT")" -eq 2 ]
  stand_in nvidia-smi 'exit 1'
  capture "${gencode[@]}"
  expect_out "-gencode=arch=compute_90a,code=sm_90a"
}

@test "the program knows which GPUs it has machine code for, however GENCODE writes them" {
  stand_in nvcc 'case $1 in --version) echo "release 13.0, V1" ;; --list-gpu-code) echo "sm_80 sm_86 sm_90 sm_100" ;; esac'
  machine_code() { make -s CUDA=1 NVCC=nvcc GENCODE="$1" print-MACHINE_CODE; }
  [ "$(machine_code all)" = 800,860,900,1000 ]
  [ "$(machine_code -gencode=arch=compute_90a,code=sm_90a)" = 900 ]
  [ "$(machine_code '-gencode=arch=compute_80,code=[sm_80,sm_86,compute_80]')" = 800,860 ]
  [ "$(machine_code -arch=native)" = "" ]
}

@test "the default builds for every kind of GPU that nvcc knows, and PTX for the rest" {
  # known CODES: what is built where nvcc knows these.
  known() {
    stand_in nvcc "case \$1 in --version) echo 'release 13.0, V1' ;; --list-gpu-code) echo '$1' ;; esac"
    capture make -s CUDA=1 NVCC=nvcc GENCODE=all print-NVCC_GENCODE
    grep -o ',code=[[:alnum:]_]*' "$OUT" | sed 's/,code=//' | xargs
  }
  [ "$(known 'sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_103 sm_120 sm_121')" = 'sm_80 sm_86 sm_89 sm_90a sm_100 sm_120 compute_90' ]
  [ "$(known 'sm_70 sm_80 sm_86 sm_89 sm_90')" = 'sm_80 sm_86 sm_89 sm_90a compute_90' ]
}

@test "compile_commands.json holds a command for every source, which compiles it" {
  mkdir "$TMP/copy"
  cp -r Makefile cli kernels tests scripts "$TMP/copy"
  must 0 capture make -s -C "$TMP/copy" CUDA=0 compile-commands
  expect_json "$TMP/copy/compile_commands.json" '{"cli/main.c", "kernels/variants/wmma.cu", "tests/base/unit_stats.c"} <=
    {e["file"] for e in d}'
  (cd "$TMP/copy" && eval "$(json compile_commands.json '[e["command"] for e in d if e["file"] == "kernels/variants/wmma.cu"][0]' |
    "$ATTN_PYTHON" -c 'import json, sys; print(json.load(sys.stdin))') -o \"\$TMP/x.o\"")
}

@test "an unknown value of CUDA is refused" {
  must 2 capture make CUDA=yes
  expect_err "use CUDA=auto, CUDA=0 or CUDA=1"
}

@test "missing cJSON names make setup and the package" {
  must 2 capture make CUDA=0 PKG_CONFIG=false
  expect_err "make setup"
  expect_err "libcjson-dev"
}

@test "a compiler that set-up has yet to install is not complained about" {
  must 0 capture make CUDA=0 CC=no-such-cc CXX=no-such-cxx print-BUILD
  expect_no_err
  expect_out_matches '^build/host-'
}

@test "clang takes what is written for gcc" {
  command -v clang >/dev/null || skip "no clang here"
  must 0 capture clang -std=c11 -D_GNU_SOURCE -I. -Wall -Wextra -Werror -fsyntax-only kernels/*.c kernels/cpu/*.c kernels/cuda/*.c
}

@test "make help lists the targets" {
  must 0 capture make help
  for target in all run check test test-gpu setup lint format format-check asan install clean; do
    expect_out_matches "^  $target +[^ ]"
  done
}

@test "configurations have folders of their own" {
  [ "$(make CUDA=0 print-BUILD)" != "$(make CUDA=0 SANITIZE=address print-BUILD)" ]
  [ "$(make CUDA=0 print-BUILD)" != "$(make CUDA=0 CFLAGS=-O1 print-BUILD)" ]
  [ "$(make CUDA=0 print-BUILD)" = "$(make CUDA=0 print-BUILD)" ]
}

# A folder of the tools that set-up needs, and no apt-get. Compilers, libraries and modules are there whatever the
# machine has: their stand-ins succeed, and python3 names itself.
tools() {
  mkdir "$TMP/bin"
  for tool in bash sed id dirname cat env true; do
    ln -s "$(type -P "$tool")" "$TMP/bin/$tool"
  done
  for tool in gcc g++ make pkg-config git python3; do
    printf '#!/bin/sh\necho "$0"\n' >"$TMP/bin/$tool"
    chmod +x "$TMP/bin/$tool"
  done
}
set_up() { ATTN_PYTHON=$TMP/bin/python3 BATS=some-bats PATH=$TMP/bin capture scripts/build/setup.sh "$@"; }

# fake_apt SHELL-TEXT: an apt-get that writes down its arguments, then runs the text; sudo asks for no password.
fake_apt() {
  printf '#!/bin/sh\nshift\nexec "$@"\n' >"$TMP/bin/sudo"
  printf '#!/bin/sh\necho "$*" >>"%s"\n%s\n' "$TMP/apt.log" "$1" >"$TMP/bin/apt-get"
  chmod +x "$TMP/bin/sudo" "$TMP/bin/apt-get"
}

@test "set-up installs what is missing and nothing else" {
  tools
  fake_apt "case \$1 in install) : >'$TMP/bin/some-bats'; /bin/chmod +x '$TMP/bin/some-bats' ;; esac"
  must 0 set_up test
  [ "$(grep -c . "$TMP/apt.log")" -eq 2 ]
  grep -q '^update' "$TMP/apt.log"
  grep -q '^install .* bats$' "$TMP/apt.log"
  must 0 set_up test
  [ "$(grep -c . "$TMP/apt.log")" -eq 2 ]
}

@test "set-up that cannot install prints the command to type" {
  tools
  must 1 set_up test
  expect_err_matches 'apt-get install -y .*bats$'
  fake_apt 'exit 100'
  must 1 set_up test
  expect_err_matches 'apt-get install -y .*bats$'
}

@test "an optional package that cannot be installed stops nothing, and only tests want it" {
  tools
  printf '#!/bin/sh\n' >"$TMP/bin/some-bats"
  chmod +x "$TMP/bin/some-bats"
  rm "$TMP/bin/git"
  fake_apt 'exit 100'
  must 0 set_up test
  expect_err "not installed: git; the tests that need it are skipped"
  rm "$TMP/apt.log"
  must 0 set_up build
  [ ! -e "$TMP/apt.log" ]
}

@test "make test names what failed, counts a test that never came, and a skip is no failure" {
  mkdir "$TMP/tree"
  cp -r Makefile scripts "$TMP/tree"
  mkdir "$TMP/tree/tests" "$TMP/tree/tests/gpu"
  cat >"$TMP/tree/make" <<'MAKE'
#!/bin/sh
case "$*" in *print-BUILD*) echo build/stub ;; esac
MAKE
  cat >"$TMP/tree/bats" <<'BATS'
#!/bin/sh
printf '1..4\nok 1 fine\nnot ok 2 a colon: and more\nnot ok 3 later # SKIP no reason\n'
BATS
  chmod +x "$TMP/tree/make" "$TMP/tree/bats"
  mkdir "$TMP/tree/bin"
  printf '#!/bin/sh\necho "GPU 0: stub"\n' >"$TMP/tree/bin/nvidia-smi"
  chmod +x "$TMP/tree/bin/nvidia-smi"
  : >"$TMP/tree/tests/gpu/some.bats"
  PATH=$TMP/tree/bin:$PATH MAKE=$TMP/tree/make BATS=$TMP/tree/bats must 1 capture "$TMP/tree/scripts/build/run_tests.sh" gpu
  expect_out "gpu/some.bats: a colon: and more"
  expect_out "gpu/some.bats: 1 tests of its plan did not run"
  [ "$(tail -n 1 "$OUT")" = "2 passed, 2 failed, 1 skipped" ] || fail "counts"
}

@test "a GPU that attnbench cannot use fails the GPU tests; no GPU skips them with the reason" {
  mkdir "$TMP/bin"
  mkdir -p "$TMP/tree/tests/gpu"
  cp -r scripts "$TMP/tree"
  cp tests/helper.bash "$TMP/tree/tests"
  cp tests/gpu/helper.bash "$TMP/tree/tests/gpu"
  local test=$TMP/tree/tests/gpu/some.bats
  printf 'load helper\n@test "uses a GPU" { need_gpu; }\n' >"$test"
  printf '#!/bin/sh\nexit 0\n' >"$TMP/bin/attnbench"
  printf '#!/bin/sh\necho "GPU 0: stub"\n' >"$TMP/bin/nvidia-smi"
  chmod +x "$TMP/bin/attnbench" "$TMP/bin/nvidia-smi"
  PATH=$TMP/bin:$PATH ATTNBENCH=$TMP/bin/attnbench must 1 capture "${BATS:-bats}" --tap "$test"
  expect_out "this machine has a GPU that attnbench cannot use: attnbench lists no GPU variant"
  scripts/build/run_tests.sh gpu-missing || skip "a GPU here"
  must 0 capture "${BATS:-bats}" --tap "$test"
  expect_out_matches '# skip no GPU: .+'
}

@test "lint sees each offence and names its place, but not its like in a comment or a longer name" {
  lint_tree
  local file=$TMP/tree/cli/base/stats.c
  echo '#include <cuda_runtime.h>' >>"$file"
  echo '/* strcpy( */ // sprintf(' >>"$file"
  echo 'int my_system(int);' >>"$file"
  echo 'void bad(char *a) { strcpy(a, "/* text"); }' >>"$file"
  echo 'static const char *const favourite = "wmma";' >>"$file"
  { echo 'int long_one(void) {' && yes '  ;' | head -n 60 && echo '}'; } >>"$file"
  echo '#include "cli/report/report.h"' >>"$TMP/tree/cli/base/stats.h"
  sed -i '/VARIANT(scalar)/d' "$TMP/tree/kernels/variants.def"
  must 1 capture scripts/build/check_layers.sh
  local lines
  lines=$(wc -l <cli/base/stats.c)
  expect_offence "cli/ sees no CUDA" "cli/base/stats.c:$((lines + 1)):"
  expect_offence "no shell and no unbounded string call" "cli/base/stats.c:$((lines + 4)):"
  refute_out "cli/base/stats.c:$((lines + 2)):"
  refute_out "cli/base/stats.c:$((lines + 3)):"
  expect_offence "no host function is longer than 60 lines" "62 lines: int long_one"
  expect_offence "includes follow the rooms" "base must not include cli/report/report.h"
  expect_offence "kernels/variants.def and kernels/variants/ agree" "defined but not listed: scalar"
  expect_offence "no variant is named outside its own file" "cli/base/stats.c:$((lines + 5)):"
}

@test "the resource table holds what ptxas reported" {
  ptxas_report a.ptxas _Z1av 0
  must 0 capture scripts/build/kernel_resources.sh --c "$TMP/a.ptxas"
  expect_out '{"_Z1av", 9, 0, 72, 1024, 48},'
}

@test "a kernel that dladdr cannot name is refused" {
  ptxas_report a.ptxas _ZN12_GLOBAL__N__1aEv 0
  must 1 capture scripts/build/kernel_resources.sh --c "$TMP/a.ptxas"
  expect_err "internal linkage"
}

@test "one kernel symbol in two objects is refused" {
  ptxas_report a.ptxas _Z1av 0
  ptxas_report b.ptxas _Z1av 0
  must 1 capture scripts/build/kernel_resources.sh --c "$TMP/a.ptxas" "$TMP/b.ptxas"
  expect_err "is in $TMP/a.ptxas too"
}

@test "a spill fails, unless it is explained; an explanation without a spill fails too" {
  ptxas_report a.ptxas _Z4leakv 16
  export ALLOWED=$TMP/allowed
  : >"$ALLOWED"
  must 1 capture scripts/build/check_spills.sh "$TMP/a.ptxas"
  expect_out "not ok - leak()"
  printf '16\tleak()\tit is cold\n' >"$ALLOWED"
  must 0 capture scripts/build/check_spills.sh "$TMP/a.ptxas"
  ptxas_report a.ptxas _Z4leakv 0
  must 1 capture scripts/build/check_spills.sh "$TMP/a.ptxas"
  expect_out "no kernel spills any more"
}

@test "a spill where no GPU was measured is told, and is no failure" {
  ptxas_report a.ptxas _Z4leakv 16 sm_120
  ptxas_report b.ptxas _Z4leakv 0 sm_90a
  ALLOWED=$TMP/none must 0 capture scripts/build/check_spills.sh "$TMP"/[ab].ptxas
  expect_out "ok - leak(): sm_120 72 registers, 1024 B shared, 16 B spilled (no GPU of this kind was measured); sm_90a 72"
  ptxas_report b.ptxas _Z4leakv 8 sm_90a
  ALLOWED=$TMP/none must 1 capture scripts/build/check_spills.sh "$TMP"/[ab].ptxas
}

@test "a spill on any architecture that was measured fails" {
  ptxas_report a.ptxas _Z4leakv 0
  ptxas_report b.ptxas _Z4leakv 16 sm_80
  ptxas_report c.ptxas _Z4calmv 0 sm_80
  must 1 capture scripts/build/check_spills.sh "$TMP"/[abc].ptxas
  expect_out "not ok - leak(): sm_80 72 registers, 1024 B shared, 16 B spilled; sm_90a 72"
  expect_out "ok - calm(): sm_80 72 registers, 1024 B shared, 0 B spilled"
}

@test "a remark that wgmma is serialised fails" {
  ptxas_report a.ptxas _Z1av 0
  echo "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized" >>"$TMP/a.ptxas"
  must 1 capture scripts/build/check_spills.sh "$TMP/a.ptxas"
  expect_out "not ok - ptxas serialises wgmma"
}

# A row of dtypes.def for a type that no code knows.
@test "a type that is not everywhere yet does not compile, on the host or in kernels" {
  local file overlay=$TMP/overlay
  mkdir -p "$overlay/kernels/problem"
  { cat kernels/problem/dtypes.def && echo 'DTYPE(E5M2, "e5m2", 1, 0x1p-3, 0x1p-16, 0.5, "")'; } >"$overlay/kernels/problem/dtypes.def"
  for file in kernels/registry.c kernels/cpu/arithmetic.c kernels/cpu/oracle.c cli/measure/check.c cli/record/checked.c kernels/problem/dtype.c; do
    must 0 capture gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wswitch -Werror -I. "$file"
    must 1 capture gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wswitch -Werror "-I$overlay" -I. "$file"
    expect_err "E5M2" "not handled in switch"
  done
  # nvcc compiles a switch that lacks a case without a word.
  for file in $(grep -rlE 'switch \(dtype\)' kernels/tiles); do
    grep -q 'static_assert(ATTN_DTYPE_COUNT == ' "$file" || fail "$file has a switch by type and no static_assert of how many there are"
  done
}
