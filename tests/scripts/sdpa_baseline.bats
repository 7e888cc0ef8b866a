# tags: unsanitized
# The PyTorch baseline. Its own arithmetic is tested everywhere; measuring needs PyTorch.
load ../helper

@test "its quantiles and interval ranks are those of cli/base/stats.c" {
  python - <<'PY'
import sys
sys.path.insert(0, "scripts")
import sdpa_baseline as s
# The ranks of the exact binomial interval, as tests/base/unit_stats.c has them.
assert [s.interval_rank(n) for n in (1, 5, 6, 15, 30, 100)] == [0, 0, 0, 3, 9, 39], [s.interval_rank(n) for n in (1, 5, 6, 15, 30, 100)]
stats = s.stats_of([4.0, 1.0, 3.0, 2.0])
assert (stats["median_us"], stats["p25_us"], stats["min_us"], stats["max_us"], stats["mad_us"]) == (2.5, 1.75, 1.0, 4.0, 1.0)
PY
}

@test "it times as attnbench says that it does, and settles as it does" {
  attn list --json
  expect_status 0
  cp "$OUT" "$TMP/list.json"
  python - "$TMP/list.json" <<'PY'
import json, re, sys
sys.path.insert(0, "scripts")
import sdpa_baseline as s
timing = json.load(open(sys.argv[1]))["timing"]
# As the sources have it: what the timers are compiled with.
header = open("kernels/timing.h").read()
assert timing["cuda"]["hot_sample_us"] == float(re.search(r"CUDA_HOT_SAMPLE_US ([\d.]+)", header)[1])
assert timing["cpu"]["hot_launches_max"] == int(re.search(r"CPU_HOT_LAUNCHES_MAX = (\d+)", header)[1])
assert s.hot_launches({"hot_sample_us": 700, "hot_launches_max": 200}, 10) == 70
assert [s.hot_launches(timing["cuda"], us) for us in (1e-3, 1e6)] == [timing["cuda"]["hot_launches_max"], 1]
least, quiet = timing["cuda"]["min_samples"], {"ci95_high_us": 1, "ci95_low_us": 1, "median_us": 1}
restless = {"ci95_high_us": 2, "ci95_low_us": 1, "median_us": 1.5}
assert s.stop_reason(timing["cuda"], {"n": least - 1, **quiet}, 0) is None
assert s.stop_reason(timing["cuda"], {"n": least, **quiet}, 0) == "interval"
few, slow_s = timing["cuda"]["few_samples"], timing["cuda"]["slow_s"]
assert 0 < few < least and s.stop_reason(timing["cuda"], {"n": few, **quiet}, few * slow_s) == "interval"
assert s.stop_reason(timing["cuda"], {"n": few, **quiet}, few * slow_s / 2) is None
assert s.stop_reason(timing["cuda"], {"n": least, **restless}, timing["cuda"]["budget_s"]) == "budget"
assert s.stop_reason(timing["cuda"], {"n": timing["cuda"]["max_samples"], **restless}, 0) == "max_samples"

class Timer:
    timing = {"settle_min_s": 0, "settle_max_s": 0.05, "settle_relative": 0.01}
    def __init__(self, times):
        self.times = iter(times)
    def sample(self, call, mode):
        return next(self.times)

assert s.settle(Timer([9, 9, 5, 5, 5, 5]), None, "hot")[1] is True
restless = Timer(us for pair in iter(lambda: (1, 1, 2, 2), None) for us in pair)
seconds, settled = s.settle(restless, None, "hot")
assert seconds >= 0.05 and not settled
PY
}

@test "it refuses what PyTorch cannot say, in a sentence" {
  python - <<'PY'
import sys
sys.path.insert(0, "scripts")
import sdpa_baseline as s
shape = {"Sq": 65, "Skv": 64, "causal": True}
assert "attend no key" in s.refusal("flash", shape)
shape["Skv"] = 128
assert "bottom-right" in s.refusal("cudnn", shape) and s.refusal("math", shape) is None
PY
}

@test "its rows have every field of the schema, for each type and device" {
  attn plan --sweep shapes/smoke.json --gpu h200 --variants cpu_ref --json "$TMP/plan.json"
  PYTHONDONTWRITEBYTECODE=1 python - "$TMP/plan.json" "$TMP/r.json" <<'PY'
import argparse, json, sys, time
sys.path.insert(0, "scripts")
import sdpa_baseline as s
plan = json.load(open(sys.argv[1], encoding="utf-8"))
rows = [{**s.blank_row(case, "torch_" + backend, device), "status": "skipped", "reason": "a test"}
        for device, backend in (("cuda", "flash"), ("cpu", "math")) for case in plan["results"]]
assert {r["math"] for r in rows} == {"tensor", "fp32", "fp32_host"}, rows
arguments = argparse.Namespace(seed=1, subjects=["flash", "math"], json=sys.argv[2])
assert s.write_report(plan, None, rows, "complete", arguments, time.time(), "torch 0") == 0
PY
  python scripts/proof/validate_report.py "$TMP/r.json"
}

@test "a run that is cut short writes the rows that it has" {
  attn plan --sweep shapes/smoke.json --gpu h200 --variants cpu_ref --json "$TMP/plan.json"
  PYTHONDONTWRITEBYTECODE=1 python - "$TMP/plan.json" "$TMP/r.json" <<'PY'
import argparse, json, sys, time
sys.path.insert(0, "scripts")
import sdpa_baseline as s
plan = json.load(open(sys.argv[1], encoding="utf-8"))
skipped = {**s.blank_row(plan["results"][0], "torch_math", "cpu"), "status": "skipped", "reason": "a test"}

def measured(end):
    yield skipped
    raise end

for end, code in ((KeyboardInterrupt(), 130), (SystemExit(143), 143), (RuntimeError("CUDA error: an illegal access"), 9)):
    rows, ended = s.take_rows(measured(end))
    assert rows == [skipped] and ended.code == code, (rows, ended.code)
assert "CUDA error" in str(ended)
assert s.take_rows(iter([skipped])) == ([skipped], None)
arguments = argparse.Namespace(seed=1, subjects=["math"], json=sys.argv[2])
assert s.write_report(plan, None, rows, "interrupted", arguments, time.time(), "torch 0") == 4
PY
  python scripts/proof/validate_report.py "$TMP/r.json"
  expect_json "$TMP/r.json" 'd["run"]["state"] == "interrupted" and d["run"]["cells"] > len(d["results"]) == 1'
}

@test "what is missing or wrong before measuring is said in a line, with its exit code" {
  mkdir "$TMP/torch"
  cat >"$TMP/torch/__init__.py" <<'PY'
import types
cuda = types.SimpleNamespace(is_available=lambda: False)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
PY
  baseline() { PYTHONPATH=$TMP PYTHONDONTWRITEBYTECODE=1 capture python scripts/sdpa_baseline.py --attnbench "$ATTNBENCH" "$@"; }
  baseline --sweep shapes/smoke.json --json "$TMP/r.json" --device cpu --attnbench "$TMP/nothing"
  expect_status 9
  expect_err "$TMP/nothing: cannot be run"
  expect_err_lines 1
  baseline --sweep "$TMP/none.json" --json "$TMP/r.json" --device cpu
  expect_status 7
  expect_err "$TMP/none.json"
  baseline --sweep shapes/smoke.json --json "$TMP/r.json"
  expect_status 77
  baseline --sweep shapes/smoke.json --json "$TMP" --device cpu
  expect_status 8
  expect_err 'is a directory'
  baseline --sweep shapes/smoke.json --json - --backends math,math
  expect_status 2
  baseline --sweep shapes/smoke.json --json - --seed -1
  expect_status 2
  echo 'def f(): pass' >"$TMP/mine.py"
  cp shapes/smoke.json "$TMP/s.json"
  for output in "$TMP/s.json" "$TMP/mine.py" "$ATTNBENCH"; do
    baseline --sweep "$TMP/s.json" --json "$output" --device cpu --callable mine:f
    expect_status 2
    expect_err 'are one file; give the output a file of its own'
  done
  cmp shapes/smoke.json "$TMP/s.json"
  [ "$(cat "$TMP/mine.py")" = 'def f(): pass' ]
  echo 'raise ImportError("none")' >"$TMP/torch/__init__.py"
  baseline --sweep shapes/smoke.json --json "$TMP/r.json"
  expect_status 9
  expect_err 'needs PyTorch'
  [ ! -e "$TMP/r.json" ] || fail "a report was written"
}

@test "an unknown backend is a usage error" {
  capture python scripts/sdpa_baseline.py --sweep shapes/smoke.json --json - --backends flesh
  expect_status 2
  expect_err 'flesh is not one of flash, cudnn, efficient, math'
}

@test "a callable is imported from where the script runs, named by its function, and held to the shape of its output" {
  cat >"$TMP/mine.py" <<'PY'
def Right(q, k, v, causal, scale):
    return q
def refuses(q, k, v, causal, scale):
    raise NotImplementedError("D must be 64")
def short(q, k, v, causal, scale):
    return None
PY
  (cd "$TMP" && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/scripts "$ATTN_PYTHON" - <<'PY')
import types
import sdpa_baseline as s
class Tensor:
    shape, dtype = (1, 2, 3, 4), "f16"
torch, shape, q = types.SimpleNamespace(Tensor=Tensor), {"D": 4, "causal": True, "Sq": 3, "Skv": 3}, Tensor()
right, refuses, short = (s.import_function(f"mine:{name}") for name in ("Right", "refuses", "short"))
assert right.variant == "py_right" and right.call_of(torch, shape, q, q, q)() is q
assert "attend no key" in right.refusal({**shape, "Sq": 4}) and right.refusal(shape) is None
try:
    short.call_of(torch, shape, q, q, q)()
    raise AssertionError("None was taken for an output")
except TypeError as error:
    assert "gave a NoneType, not (1, 2, 3, 4) of f16" in str(error)
assert s.status_of(refuses, NotImplementedError("D")) == "skipped" and s.status_of(right, RuntimeError("x")) == "error"
for spec, why in (("mine:absent", "has no function absent"), ("none.such:f", "cannot be imported")):
    try:
        s.import_function(spec)
        raise AssertionError(spec)
    except s.Failure as failure:
        assert why in str(failure) and failure.code == 2, failure
PY
  capture python scripts/sdpa_baseline.py --sweep shapes/smoke.json --json - --callable mine.Right
  expect_status 2
  expect_err 'package.module:function'
  capture python scripts/sdpa_baseline.py --sweep shapes/smoke.json --json - --callable a:f --callable b:F
  expect_status 2
  expect_err 'two functions would be called py_f'
}

@test "a callable runs on a CPU in both modes, beside PyTorch where both are asked for" {
  python3 -c 'import torch' 2>/dev/null || skip "PyTorch is not installed"
  cat >"$TMP/mine.py" <<'PY'
import torch
def attention(q, k, v, causal, scale):
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    score = (q.float() @ k.float().transpose(-1, -2)) * scale
    if causal:
        score = score.masked_fill(~torch.ones(score.shape[-2:], dtype=torch.bool).tril(k.shape[2] - q.shape[2]), -torch.inf)
    return (score.softmax(-1) @ v.float()).to(q.dtype)
def wrong(q, k, v, causal, scale):
    return q
PY
  capture env PYTHONPATH="$TMP" python3 scripts/sdpa_baseline.py --sweep tests/data/sweeps/tiny.json --device cpu --attnbench "$ATTNBENCH" \
    --backends math --callable mine:attention --callable mine:wrong --json "$TMP/r.json"
  expect_status 3
  expect_valid results/report.schema.json "$TMP/r.json"
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok", "ok", "wrong"] * 2'
}

@test "on a CPU it writes a valid report with the same inputs, checked and timed" {
  python3 -c 'import torch' 2>/dev/null || skip "PyTorch is not installed"
  capture python3 scripts/sdpa_baseline.py --sweep tests/data/sweeps/tiny.json --device cpu --attnbench "$ATTNBENCH" \
    --json "$TMP/r.json"
  expect_status 0
  expect_valid results/report.schema.json "$TMP/r.json"
  python scripts/proof/validate_report.py "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"] if r["variant"] == "torch_math"} == {"ok"}'
  expect_json "$TMP/r.json" 'all(r["reason"] for r in d["results"] if r["status"] == "skipped")'
}

# PyTorch's few functions that the check needs, in NumPy; its float64 alone.
numpy_as_torch() {
  cat <<'PY'
import types
import numpy

class Tensor(numpy.ndarray):
    device = "cpu"
    double = lambda self: self.astype(float)
    to = lambda self, where: self
    int = lambda self: self.astype("int64")
    tril = lambda self, k=0: numpy.tril(self, k)
    numel = lambda self: self.size
    abs = lambda self: numpy.abs(self)
    amax = lambda self, dim: self.max(axis=dim)
    sum = lambda self, dim=None: numpy.asarray(numpy.ndarray.sum(self, axis=dim)).view(Tensor)
    expand = lambda self, *shape: numpy.broadcast_to(self, shape).view(Tensor)
    any = lambda self, dim=None: numpy.ndarray.any(self, axis=dim)
    clamp = lambda self, low, high: self.clip(low, high)
    masked_fill = lambda self, mask, value: numpy.where(mask, value, self).view(Tensor)

def softmax(score, dim):
    e = numpy.exp(score - score.max(axis=dim, keepdims=True))
    return e / e.sum(dim)[..., None]

torch = types.SimpleNamespace(
    Tensor=Tensor, bool=bool, softmax=softmax, sqrt=numpy.sqrt, ceil=numpy.ceil, where=lambda *a: numpy.where(*a).view(Tensor),
    full=lambda shape, value, device=None: numpy.full(shape, value).view(Tensor), zeros_like=numpy.zeros_like, ones_like=numpy.ones_like, isnan=numpy.isnan, isinf=numpy.isinf, isfinite=numpy.isfinite,
    float16=numpy.float16, bfloat16=None, float32=numpy.float32, frombuffer=lambda data, dtype: numpy.frombuffer(data, dtype).view(Tensor),
    finfo=numpy.finfo, nan_to_num=numpy.nan_to_num, ones=lambda *shape, dtype, device: numpy.ones(shape, dtype).view(Tensor),
    arange=lambda n, device=None: numpy.arange(n).view(Tensor))
PY
}

@test "its check is attnbench's: bounds of element, row and whole output, from attnbench's own constants" {
  python3 -c 'import numpy' 2>/dev/null || skip "NumPy is not installed"
  "$ATTNBENCH" list --json >"$TMP/list.json"
  { numpy_as_torch && cat <<'PY'; } >"$TMP/check.py"
import json, math, sys
sys.path.insert(0, "scripts")
import sdpa_baseline as s
bounds = json.load(open(sys.argv[1], encoding="utf-8"))["check"]
assert bounds["f16"]["relative"] == 2.0**-11 and bounds["bf16"]["absolute"] == 2.0**-126 and bounds["element_spread"] == 4
shape = {"B": 1, "Hq": 2, "Hkv": 1, "Sq": 5, "Skv": 9, "D": 8, "dtype": "f16", "causal": True}
random = numpy.random.default_rng(1)
q, k, v = (random.standard_normal((1, heads, rows, 8)).view(Tensor) for heads, rows in ((2, 5), (1, 9), (1, 9)))
rows = {(b, h): parts for b, h, *parts in s.oracle_rows(torch, shape, q, k, v)}
right = numpy.stack([rows[0, 0][0], rows[0, 1][0]])[None].view(Tensor)
assert list(s.keys_of_rows(torch, shape, "cpu")) == [5, 6, 7, 8, 9]

def verdict(out, launch=0):
    check = s.Check()
    check.take(s.compare(torch, bounds, shape, (q, k, v), out), launch)
    return check

assert verdict(right).right and verdict(right).found["max_bound_ratio"] == 0
# One row by hand: head 1, row 2, which attends 7 keys.
score = [sum(q[0, 1, 2, d] * k[0, 0, j, d] for d in range(8)) / math.sqrt(8) for j in range(7)]
p = [math.exp(x) / sum(map(math.exp, score)) for x in score]
w = math.sqrt(sum(p[j] ** 2 * sum(v[0, 0, j, d] ** 2 for d in range(8)) for j in range(7)))
unit = 2.0**-11 + 2.0**-24 * (8 + 2 * math.sqrt(7) + 2 * math.sqrt(8) * (1 + max(map(abs, score))))
size = right[0, 1, 2, 3]
bound = unit * (4 * w / math.sqrt(8) + 2 * abs(size)) + 2.0**-24
row_bound = unit * (w + 2 * math.sqrt(sum(x * x for x in right[0, 1, 2]))) + 2.0**-24 * math.sqrt(8)
off = min(bound, row_bound)
for share, good in ((0.99, True), (1.01, False)):
    out = right.copy()
    out[0, 1, 2, 3] += share * off
    assert verdict(out).right == good, (share, verdict(out).found)
assert verdict(out).found["first_bad"] == ((0 * 2 + 1) * 5 + 2) * 8 + (3 if off == bound else 0)
assert "first at [b=0, h=1, q=2, d=" in s.wrong_reason(verdict(out, 2), shape) and "launch 2" in s.wrong_reason(verdict(out, 2), shape)
out = right.copy()
out[0, 1, 2] += 1.01 * row_bound / math.sqrt(8)  # every element within its own bound
assert verdict(out).found["bad_count"] == 0 and verdict(out).found["bad_rows"] == 1 and not verdict(out).right
assert "1 of 10 rows" in s.wrong_reason(verdict(out), shape)
out = right.copy()
out[0, 0, 4, 7] = math.nan
assert verdict(out).found["nan_count"] == 1 and verdict(out).found["first_bad"] == 39 and not verdict(out).right
evidence = verdict(out).record(bounds["f16"], 8)["evidence"]
known = json.load(open("results/report.schema.json", encoding="utf-8"))["$defs"]["check"]["properties"]["evidence"]
assert {key for key in evidence if not key.endswith("_reason")} == set(known["required"]), evidence
# The whole output is held to its bound on random inputs alone; the first that is wrong stays.
check, far = s.Check(), {**verdict(right).found, "norm_ratio": 2}
check.take(far, 1)
assert check.right and check.hard_ratio == 0
check.take(far, 0)
check.take(verdict(right).found, 0)
assert not check.right and check.found is far and check.launches == 3
# On a GPU whose tensor cores take 8 keys in a step, where V has a mean: a step may take 5 units of 2^-24 of what O has
# beyond its spread, and one of the spread.
gpu = {"kind": "cuda", "cc_major": 8}
shape, q, k = {**shape, "Skv": 4096, "Sq": 1, "causal": False}, q[:, :, :1] * 0, numpy.ones((1, 1, 4096, 8)).view(Tensor)
v = (numpy.ones((1, 1, 4096, 8)) + 0.25).view(Tensor)
right = numpy.full((1, 2, 1, 8), 1.25).view(Tensor)
w, unit = math.sqrt(8 * 1.25**2 / 4096), 2.0**-11 + 2.0**-24 * (8 + 2 * 64 + 2 * math.sqrt(8))
for limits, truncated in ((bounds, 0), (s.with_truncation(bounds, gpu), 2.0**-24 * 4096 / 8)):
    bound = (unit + truncated) * 4 * w / math.sqrt(8) + 2 * unit * 1.25 + 5 * truncated * (1.25 - 4 * w / math.sqrt(8)) + 2.0**-24
    row_bound = ((unit + truncated) * w + 2 * unit * 1.25 * math.sqrt(8) +
                 5 * truncated * (1.25 * math.sqrt(8) - (1 + 4 / math.sqrt(8)) * w) + 2.0**-24 * math.sqrt(8))
    for share in (0.99, 1.01):
        out = right.copy()
        out[0, 0, 0, 0] += share * bound
        found = s.compare(torch, limits, shape, (q, k, v), out)
        assert abs(found["max_bound_ratio"] - share) < 1e-6 and abs(found["max_row_ratio"] - share * bound / row_bound) < 1e-6, found
assert s.with_truncation(bounds, {**gpu, "cc_major": 10})["bf16"]["step_keys"] == 16
assert s.with_truncation(bounds, gpu)["f32"]["step_keys"] == s.with_truncation(bounds, {"kind": "cpu", "cc_major": 0})["f16"]["step_keys"] == 0
PY
  PYTHONDONTWRITEBYTECODE=1 python3 "$TMP/check.py" "$TMP/list.json"
}

@test "on attnbench's inputs its check says what attnbench's says, and a right output passes on the hard ones" {
  python3 -c 'import numpy' 2>/dev/null || skip "NumPy is not installed"
  ZEROS=$(dirname "$ATTNBENCH")/tests/plugins/sound.so
  [ -f "$ZEROS" ] || ZEROS=$(make -s print-BUILD)/tests/plugins/sound.so
  [ -f "$ZEROS" ] || skip "no $ZEROS; make test-programs builds it"
  attn --shape B=1,H=4/2,S=21x37,D=32,f16,f32,full,causal --seed 7 --device cpu --check-only --load "$ZEROS" --variants sound --json "$TMP/r.json"
  expect_status 3
  "$ATTNBENCH" list --json >"$TMP/list.json"
  { numpy_as_torch && cat <<'PY'; } >"$TMP/check.py"
import json, sys, types
sys.path.insert(0, "scripts")
import sdpa_baseline as s
attnbench, bounds = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))["check"]

class Subject:
    """Gives zeros, or the reference rounded, with its masked keys as it got them."""
    def __init__(self, right):
        self.right, self.seen = right, []
    def adds_mask(self, shape):
        return False
    def call_of(self, torch, shape, q, k, v):
        self.seen.append(k)
        rows = [reference for _, _, reference, *_ in s.oracle_rows(torch, shape, q, k, v)]
        out = numpy.stack(rows).reshape(q.shape).astype(q.dtype).view(Tensor)
        return lambda: out if self.right else numpy.zeros_like(out)

with numpy.errstate(all="ignore"):
    for row in json.load(open(sys.argv[3], encoding="utf-8"))["results"]:
        shape, theirs, check, zeros, right = row["shape"], row["check"], s.Check(), Subject(False), Subject(True)
        launches = s.launches_of(torch, attnbench, row, 7, "cpu")
        s.check_launches(torch, zeros, shape, launches, bounds, check)
        ours = check.record(bounds[shape["dtype"]], shape["D"])
        for key in ("bad_count", "first_bad", "elements", "nan_count", "max_abs_error", "max_bound_ratio", "rel_frobenius"):
            assert abs(ours[key] - theirs[key]) <= 1e-6 * abs(theirs[key]), (row["key"], key, ours[key], theirs[key])
        for key in ("rows", "bad_rows", "max_row_ratio", "norm_ratio", "launches", "launch"):
            assert abs(ours["evidence"][key] - theirs["evidence"][key]) <= 1e-6 * theirs["evidence"][key], (row["key"], key)
        check = s.Check()
        s.check_launches(torch, right, shape, launches, bounds, check)
        assert check.right and check.launches == len(launches) == 3 and 0 < check.hard_ratio < 0.6, (row["key"], check.found)
        assert numpy.isnan(launches[1][1]).any() == shape["causal"] == numpy.isnan(right.seen[1]).any()
        hidden = s.compare(torch, bounds, shape, launches[1], launches[1][0])["rows"]
        assert (hidden < 84) == shape["causal"] and hidden > 40, hidden
        s.HARD_ELEMENTS_MAX = 100
        alone = s.launches_of(torch, attnbench, row, 7, "cpu")
        assert len(alone) == 1 and all((a == b).all() for a, b in zip(alone[0], launches[0]))
        s.HARD_ELEMENTS_MAX = 1 << 28
        right.adds_mask = lambda shape: True
        s.check_launches(torch, right, shape, launches, bounds, s.Check())
        assert not numpy.isnan(right.seen[-1]).any()
try:
    s.launches_of(torch, attnbench, {**row, "key": "B0"}, 7, "cpu")
    raise AssertionError("inputs of no case")
except s.Failure as failure:
    assert failure.code == 2 and "ended with 2: attnbench: " in str(failure), failure
PY
  PYTHONDONTWRITEBYTECODE=1 python3 "$TMP/check.py" "$ATTNBENCH" "$TMP/list.json" "$TMP/r.json"
}

@test "a callable is checked over a sweep that comes on stdin, NumPy being in the place of PyTorch" {
  python3 -c 'import numpy' 2>/dev/null || skip "NumPy is not installed"
  mkdir "$TMP/torch"
  { numpy_as_torch && cat <<'PY'; } >"$TMP/torch/__init__.py"
import contextlib
globals().update(vars(torch))
__version__, version = "0", types.SimpleNamespace(cuda=None)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()),
                                 cudnn=types.SimpleNamespace(version=lambda: None))
no_grad = contextlib.nullcontext
PY
  cat >"$TMP/mine.py" <<'PY'
import numpy
def scores(q, k, scale):
    return numpy.einsum("bhqd,bhkd->bhqk", q.astype(float), numpy.repeat(k, q.shape[1] // k.shape[1], 1).astype(float)) * scale
def outputs(q, score, v):
    p = numpy.exp(score - score.max(-1, keepdims=True))
    o = p / p.sum(-1, keepdims=True) @ numpy.repeat(v, q.shape[1] // v.shape[1], 1).astype(float)
    return o.astype(q.dtype).view(type(q))
def hidden(score):
    return ~numpy.tri(*score.shape[-2:], score.shape[-1] - score.shape[-2], dtype=bool)
def right(q, k, v, causal, scale):
    score = scores(q, k, scale)
    return outputs(q, numpy.where(hidden(score), -numpy.inf, score) if causal else score, v)
def adds(q, k, v, causal, scale):
    score = scores(q, k, scale)
    return outputs(q, score + numpy.where(hidden(score), -numpy.inf, 0) if causal else score, v)
def picky(q, k, v, causal, scale):
    raise NotImplementedError("not today")
PY
  status=0
  PYTHONPATH=$TMP PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore python3 scripts/sdpa_baseline.py --attnbench "$ATTNBENCH" --sweep - --device cpu \
    --check-only --callable mine:right --callable mine:adds --callable mine:picky --json "$TMP/r.json" >"$OUT" 2>"$ERR" \
    <tests/data/sweeps/tiny.json || status=$?
  expect_status 3
  python scripts/proof/validate_report.py "$TMP/r.json"
  # A mask that is added to the scores lets NaN through that it should hide.
  expect_json "$TMP/r.json" '[(r["status"], r["shape"]["causal"]) for r in d["results"]]
    == [("ok", False), ("ok", False), ("skipped", False), ("ok", True), ("wrong", True), ("skipped", True)]'
  expect_json "$TMP/r.json" 'd["results"][0]["check"]["evidence"]["launches"] == 3 and d["results"][0]["time"] is None
    and "on hard inputs (launch" in d["results"][4]["reason"] and "not today" in d["results"][5]["reason"]'
}

@test "a sweep comes on stdin too" {
  mkdir "$TMP/torch"
  cat >"$TMP/torch/__init__.py" <<'PY'
import types
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
PY
  baseline() {
    PYTHONPATH=$TMP PYTHONDONTWRITEBYTECODE=1 python scripts/sdpa_baseline.py --attnbench "$ATTNBENCH" --sweep - --device cpu --json - >"$OUT" 2>"$ERR"
  }
  echo '{"attnbench_sweep": 1, "name": "x", "shapes": []}' | baseline && fail "a sweep without shapes was taken"
  expect_err 'plan --sweep - '
  expect_err 'shapes'
}
