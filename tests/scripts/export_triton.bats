# tags: asan
# scripts/export_triton.py: with a stand-in for Triton's compiler, and with Triton itself where it is installed.
load ../helper

# A package `triton` that compiles nothing: it says what a compiler would of the kernel it is given.
fake_triton() {
  mkdir -p "$TMP/fake/triton/language" "$TMP/fake/triton/backends"
  cat >"$TMP/fake/triton/__init__.py" <<'PY'
import inspect, json, os, types
from . import language
def jit(function):
    function.arg_names = list(inspect.signature(function).parameters)
    return function
def compile(source, target, options):
    if os.environ.get("FAKE_FAILS"):
        raise ValueError("no such dtype")
    json.dump({"signature": source.signature, "attributes": sorted(k[0] for k in source.attributes)}, open(os.environ["FAKE_SAW"], "w"))
    entry = source.kernel.__name__
    kinds = [".u64 .ptr .global .align 1"] * 4 + [".u32"] * 3 + [".f32"] + [".u64 .ptr .global .align 1"] * 2
    params = ",\n".join(f"\t.param {kind} {entry}_param_{i}" for i, kind in enumerate(kinds))
    ptx = f".visible .entry {entry}(\n{params}\n)\n.reqntid 160\n{{\n}}\n"
    metadata = types.SimpleNamespace(name=entry, num_warps=4, shared=4096, global_scratch_size=int(os.environ.get("FAKE_SCRATCH", 0)))
    return types.SimpleNamespace(asm={"ptx": ptx, "cubin": b"\x7fELF"}, metadata=metadata)
PY
  printf 'constexpr = object\n' >"$TMP/fake/triton/language/__init__.py"
  printf 'class GPUTarget:\n    def __init__(self, backend, arch, warp):\n        self.arch = arch\n' >"$TMP/fake/triton/backends/compiler.py"
  printf 'class ASTSource:\n    def __init__(self, kernel, signature, constexprs, attributes):\n        self.__dict__.update(locals())\n' >"$TMP/fake/triton/compiler.py"
}
export_with() {
  PYTHONPATH=$TMP/fake FAKE_SAW=$TMP/saw.json PYTHONDONTWRITEBYTECODE=1 \
    capture python scripts/export_triton.py --compute-capability 9.0 --out "$TMP/out" "$@"
}

# The example with something replaced in what it describes.
changed() {
  sed "$1" kernels/example/triton_flash.py >"$TMP/changed.py"
  ! cmp -s kernels/example/triton_flash.py "$TMP/changed.py" || fail "nothing was changed by $1"
}

@test "the example becomes a cubin and a manifest that attnbench plans" {
  fake_triton
  must 0 export_with kernels/example/triton_flash.py --D 64,72 --dtype bf16 --mask causal
  [ "$(cat "$OUT")" = "$TMP/out/triton_flash_d64_bf16_causal.json" ] || fail "$(cat "$OUT")"
  expect_err "no kernel for D=72, bf16, causal"
  expect_valid results/kernel.schema.json "$TMP/out/triton_flash_d64_bf16_causal.json"
  expect_json "$TMP/saw.json" '[*d["signature"].values()][3:9] == ["*bf16", "i32", "i32", "i32", "fp32", "constexpr"]'
  expect_json "$TMP/saw.json" 'd["attributes"] == [0, 1, 2, 3]'
  must 0 attn plan --shape B=2,H=4/2,S=300,D=64,bf16,causal --gpu h200 --load "$TMP/out/triton_flash_d64_bf16_causal.json" \
    --variants triton_flash_d64_bf16_causal --json -
  # Warps that the compiler has added and two parameters of its own are in the manifest.
  expect_json "$OUT" '[(l["grid"], l["block"], l["dynamic_smem_bytes"]) for l in d["results"][0]["launches"]] == [([3, 8, 1], [160, 1, 1], 4096)]'
  expect_json "$TMP/out/triton_flash_d64_bf16_causal.json" 'd["launches"][0]["arguments"][8:] == [{"zeros": 8}, {"zeros": 8}]'
}

@test "without a GPU the one to compile for must be named, and the documented commands name files that are written" {
  fake_triton
  cat >>"$TMP/fake/triton/__init__.py" <<'PY'
class driver:
    class active:
        @staticmethod
        def get_current_target():
            raise RuntimeError("0 active drivers ([]). There should only be one.")
runtime = types.SimpleNamespace(driver=driver)
PY
  PYTHONPATH=$TMP/fake FAKE_SAW=$TMP/saw.json PYTHONDONTWRITEBYTECODE=1 must 77 capture python scripts/export_triton.py kernels/example/triton_flash.py --out "$TMP/out"
  expect_err "--compute-capability 9.0"
  expect_err_lines 1
  must 0 export_with kernels/example/triton_flash.py --D 64 --dtype f16
  for document in kernels/example/README.md kernels/example/triton_flash.py; do
    for named in $(grep -o 'triton/triton_flash[a-z0-9_]*\.json' "$document"); do
      [ -f "$TMP/out/${named#triton/}" ] || fail "$document names $named, which is not written"
    done
  done
}

@test "a parameter that is promised to be a multiple of 16 is demanded of the shape" {
  fake_triton
  changed 's/"math": "wgmma",/"math": "wgmma", "divisible": ["Sq"],/'
  must 0 export_with "$TMP/changed.py" --mask full
  expect_json "$TMP/saw.json" 'd["attributes"] == [0, 1, 2, 3, 4]'
  attn plan --shape B=1,H=4,S=304,D=64 --shape B=1,H=4,S=300,D=64 --gpu h200 --load "$TMP/out/triton_flash_d64_f16_full.json" --json -
  expect_json "$OUT" '[r["status"] for r in d["results"] if r["variant"] != "cudnn"] == ["planned", "skipped"]'
}

@test "what is wrong with a description is said in a line, and nothing is written" {
  fake_triton
  local change
  while IFS='|' read -r change text; do
    changed "$change"
    must 2 export_with "$TMP/changed.py"
    expect_err "$text"
    expect_err_lines 1
  done <<'TABLE'
s/"K": "k",/"K": "keys",/|arguments["K"] is 'keys'
s/"K": "k",/"Keys": "k",/|"Keys" is no parameter of the kernel
s/"K": "k",//|parameter K must be in one of "arguments" and "constexprs"
s/"math": "wgmma",/"math": "wgmma", "divisible": ["Q"],/|Q is no integer
s/"math": "wgmma",//|returned no "math"
s/"kernel": triton_flash/"kernel": "triton_flash"/|is no @triton.jit function
s/"math": "wgmma",/"math": "wgmma", "name": "Triton!",/|is no name of a variant
s/def attnbench/def attn/|has no function attnbench
TABLE
  must 2 export_with kernels/example/triton_flash.py --D 5000
  expect_err "for none of these"
  FAKE_SCRATCH=64 must 2 export_with kernels/example/triton_flash.py
  expect_err "64 bytes of global_scratch"
  FAKE_FAILS=1 must 9 export_with kernels/example/triton_flash.py
  expect_err "does not compile: ValueError: no such dtype"
  [ -z "$(ls "$TMP/out")" ] || fail "$(ls "$TMP/out")"
}

@test "what is missing is said in a line, with its exit code" {
  mkdir "$TMP/fake"
  echo 'raise ImportError("none")' >"$TMP/fake/triton.py"
  must 9 export_with kernels/example/triton_flash.py
  expect_err "needs Triton 3.2 or newer"
  must 2 export_with kernels/example/triton_flash.py --dtype f8
  expect_err "f8 is not one of f16, bf16, f32"
}

@test "Triton itself compiles the example for Hopper, without a GPU" {
  python3 -c 'import triton' 2>/dev/null || skip "Triton is not installed"
  must 0 capture python3 -W ignore scripts/export_triton.py kernels/example/triton_flash.py --compute-capability 9.0 --mask full --out "$TMP/out"
  must 0 attn plan --shape B=1,H=4,S=300,D=64 --gpu h200 --load "$TMP/out/triton_flash_d64_f16_full.json" --variants triton_flash_d64_f16_full
}
