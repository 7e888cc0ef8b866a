# tags: slow asan
# The PyTorch baseline: what it asks of attnbench. A module in NumPy stands in for PyTorch.
load ../helper

setup() {
  [ -n "$ATTN_PYTHON" ] || skip "python3 is not here"
  export PYTHONDONTWRITEBYTECODE=1
}

baseline() { capture "$ATTN_PYTHON" scripts/sdpa_baseline.py --attnbench "$ATTNBENCH" "$@"; }

# torch_in_numpy: scaled_dot_product_attention for the tests, as a module `torch` in $TMP.
torch_in_numpy() {
  "$ATTN_PYTHON" -c 'import numpy' 2>/dev/null || skip "$ATTN_PYTHON has no numpy"
  attn list --load tests/data/callables.py:right right
  [ "$status" -eq 0 ] || skip "$ATTN_PYTHON has no shared library: $(head -n 1 "$ERR")"
  mkdir -p "$TMP/torch/nn/attention"
  cat >"$TMP/torch/__init__.py" <<'PY'
import numpy
class Tensor(numpy.ndarray):
    numpy = lambda self: self.view(numpy.ndarray)
from_numpy = lambda array: array.view(Tensor)
PY
  cat >"$TMP/torch/nn/__init__.py" <<'PY'
import types
import callables
import torch
chosen = []
def sdpa(q, k, v, is_causal=False, attn_mask=None, enable_gqa=False):
    if chosen[-1] == "CUDNN_ATTENTION":
        raise RuntimeError("No available kernel. Aborting execution.")
    return torch.from_numpy(callables.right(q, k, v, is_causal or attn_mask is not None, q.shape[3] ** -0.5))
functional = types.SimpleNamespace(scaled_dot_product_attention=sdpa)
PY
  cat >"$TMP/torch/nn/attention/__init__.py" <<'PY'
import contextlib
import types
from torch.nn import chosen
SDPBackend = type("SDPBackend", (), {n: n for n in ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH")})
bias = types.SimpleNamespace(causal_lower_right=lambda rows, keys: "mask")
def sdpa_kernel(backend):
    chosen.append(backend)
    return contextlib.nullcontext()
PY
  sed -i '1i import torch.nn' "$TMP/torch/nn/attention/__init__.py"
  echo 'import torch.nn' >>"$TMP/torch/__init__.py"
  cp tests/data/callables.py "$TMP/callables.py"
  export PYTHONPATH=$TMP
}

@test "its rows are attnbench's: one per case and backend, checked, and skipped with PyTorch's words" {
  torch_in_numpy
  must 3 baseline --sweep tests/data/sweeps/tiny.json --device cpu --check-only --json "$TMP/r.json" --callable callables:right --callable callables:wrong \
    --backends flash,cudnn,math
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"] if r["variant"] in ("torch_flash", "py_right")} == {"ok"}'
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"] if r["variant"] == "py_wrong"} == {"wrong"}'
  expect_json "$TMP/r.json" 'all("No available kernel" in r["reason"] for r in d["results"] if r["variant"] == "torch_cudnn" and not r["shape"]["causal"])'
  expect_json "$TMP/r.json" 'all(r["status"] == ("skipped" if r["shape"]["causal"] else "ok") for r in d["results"] if r["variant"] == "torch_math")'
}

@test "one of its functions stands beside built-in kernels" {
  torch_in_numpy
  must 0 attn --shape B=1,H=4/2,S=8x16,D=16,causal --device cpu --check-only --load scripts/sdpa_baseline.py:torch_flash --variants torch_flash,cpu_flash
  expect_out_matches 'torch_flash +ok'
}

@test "it refuses what PyTorch cannot say, in a sentence" {
  python - <<'PY'
import sys
sys.path.insert(0, "scripts")
import sdpa_baseline as s
assert "attend no key" in s.refusal("flash", 65, 64, True)
assert "bottom-right" in s.refusal("cudnn", 65, 128, True) and s.refusal("flash", 65, 128, True) is None
assert "NaN" in s.refusal("math", 64, 64, True) and s.refusal("math", 65, 64, False) is None
PY
}

@test "what is missing or wrong before measuring is said in a line, with its exit code" {
  must 2 baseline --sweep shapes/smoke.json --json - --backends flesh
  expect_err 'flesh is not one of flash, cudnn, efficient, math'
  must 2 baseline --sweep shapes/smoke.json --json - --callable a:f --callable b:F
  must 9 capture "$ATTN_PYTHON" scripts/sdpa_baseline.py --attnbench "$TMP/nothing" --sweep shapes/smoke.json
  expect_err "$TMP/nothing"
  baseline --sweep "$TMP/none.json" --json "$TMP/r.json" --device cpu --callable "$ROOT/tests/data/callables.py:right"
  [ "$status" -eq 7 ] || [ "$status" -eq 2 ] || fail "exit code $status"
  [ ! -e "$TMP/r.json" ] || fail "a report was written"
}
