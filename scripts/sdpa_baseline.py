#!/usr/bin/env python3
"""Measures PyTorch's scaled_dot_product_attention, or any Python function that computes attention on PyTorch's tensors,
one row per case and backend or function, over an attnbench sweep, and writes the same report (results/README.md), so that
both can be read side by side.

    --callable package.module:function         function(q, k, v, causal, scale) -> o

A function that computes more of a problem has parameters for that, which are given by name where a case has them; cases
with something that the function has no parameter for are skipped:

    window=(left, right)      the keys that a row sees, as in shapes/README.md; causal is then False
    softcap=c                 scores become c * tanh(score / c) before the mask
    sink=tensor               [Hq] in fp32: row i of query head h has exp(sink[h]) in the sum of its softmax, and no value for it

q is [B, Hq, Sq, D], k [B, Hkv, Skv, D], v [B, Hkv, Skv, Dv] and o [B, Hq, Sq, Dv] (Dv is D unless the case says more), of one dtype; query head h reads KV head h // (Hq // Hkv);
causal masks are aligned bottom-right; scale is 1/sqrt(D). A case's layout is in their strides: they are views of [B, S, H, D] or [B, S, 3, H, D]
memory where it says so, and o may have any strides. The module is found as `python -m` would find it, the folder
that the script is run in first. The function is warmed up before it is timed (a torch.compile happens there), must not
wait for the GPU, and says that it does not take a shape by raising NotImplementedError.

What is the same as in attnbench: the cases, FLOPs and bytes (attnbench plans the sweep); the inputs, random and hard ones
(`attnbench inputs` writes them; cases of more than 2^28 elements have random ones alone); cold (one call after an L2 flush,
host time hidden behind a sleeping kernel) and hot (a CUDA graph of back-to-back calls on the same buffers, per call); how
long a hot sample and the warm-up last and when to stop sampling, and the bounds of the check (both from `attnbench list
--json`). What is not: the reference is this script's own fp64 result; outputs are checked before and after timing, not
those of timed launches; no redzones; SM clock and power are not read.

Hard inputs have NaN in keys that a mask hides: a function must leave such scores out (torch.where, masked_fill), as
a mask that is added to them lets NaN through. Two of PyTorch's backends add it, math and, where Sq and Skv differ, efficient;
for these the hidden keys are 0.

A case that a backend refuses is skipped with PyTorch's own words. Exit code: as attnbench's (0, 3 wrong, 4 errors, 7 bad
sweep, 8 output, 77 no GPU, 130 and 143 interrupted), 2 usage, 9 no PyTorch or attnbench, or the device is unusable. A run
that is cut short writes the rows that it has.
"""

import argparse
import contextlib
import datetime
import importlib
import inspect
import json
import math
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
import warnings

from lib import files, program
from lib.program import Failure

BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
STATUSES = ["ok", "wrong", "skipped", "planned", "oom_predicted", "error", "crashed", "timeout", "implausible", "left_out"]
SLEEP_CYCLES = 1_000_000  # about half a millisecond: longer than the host needs to queue what follows
HARD_ELEMENTS_MAX = 1 << 28  # of Q, K and V: hard inputs of larger cases would take longer than all else
NOT_READ = "this script does not read it"
# The pipe of the products, TF32 being off.
MATH = {"cuda": {"f16": "tensor", "bf16": "tensor", "f32": "fp32"}, "cpu": dict.fromkeys(("f16", "bf16", "f32"), "fp32_host")}
REFUSALS = ("No available kernel", "No viable backend", "No execution plans", "No valid execution plans", "not supported")


# ---- inputs -----------------------------------------------------------------------------------------------------

def dtype_of(torch, shape):
    return {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[shape["dtype"]]


def tensor_from(torch, stream, shape, dtype, device):
    """The next numbers of a stream; None at its end."""
    data = bytearray(math.prod(shape) * torch.finfo(dtype).bits // 8)
    if stream.readinto(data) < len(data):
        return None
    return torch.frombuffer(data, dtype=dtype).reshape(shape).to(device)


def laid_out(torch, shape, tensors):
    """Q, K and V with the strides of the case's layout, the sinks as they are."""
    layout, (q, k, v, *others) = shape.get("layout", "bhsd"), tensors
    if layout == "bshd":
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    elif layout == "qkv":
        q, k, v = (x.transpose(1, 2) for x in torch.stack([x.transpose(1, 2) for x in (q, k, v)], dim=2).unbind(2))
    return [q, k, v, *others]


def launches_of(torch, attnbench, case, seed, device):
    """[(Q, K, V)] of each launch of the case's check, the random one first; with the sinks behind V where the case has them."""
    s = case["shape"]
    shapes = [(s["B"], s["Hq"], s["Sq"], s["D"]), (s["B"], s["Hkv"], s["Skv"], s["D"]), (s["B"], s["Hkv"], s["Skv"], v_columns(s))]
    wanted = [(shape, dtype_of(torch, s)) for shape in shapes] + ([((s["Hq"],), torch.float32)] if s.get("sink") else [])
    is_large = sum(map(math.prod, shapes)) > HARD_ELEMENTS_MAX
    command, launches = [attnbench, "inputs", "--shape", case["key"], "--seed", str(seed)], []
    with program.started(command) as process:
        while not (is_large and launches):
            tensors = [tensor_from(torch, process.stdout, shape, dtype, device) for shape, dtype in wanted]
            if tensors[0] is None:
                break
            launches.append(laid_out(torch, s, tensors))
        why = process.stderr.read().decode(errors="replace").strip() if not launches else ""
    if not launches:
        raise Failure(program.code_of(process.returncode), f"{shlex.join(command)} ended with {process.returncode}: {why}")
    return launches


# ---- attention --------------------------------------------------------------------------------------------------

NO_LSE = "lse must be false: what is called here returns O alone"
DENSE = {"B", "Hq", "Hkv", "Sq", "Skv", "D", "Dv", "dtype", "causal", "lse", "layout"}  # what tensors and `causal` say


def v_columns(shape):
    """Columns of V and O."""
    return shape.get("Dv", shape["D"])


def bounds_of(shape):
    """(left, right) of the mask, -1 for no bound."""
    return tuple(shape.get("window", (-1, 0 if shape["causal"] else -1)))


def is_masked(shape):
    return bounds_of(shape) != (-1, -1)


def seen_keys(torch, shape, device):
    """Which keys each row sees, as booleans [Sq, Skv]; None: all."""
    left, right = bounds_of(shape)
    if not is_masked(shape):
        return None
    position = torch.arange(shape["Sq"], device=device)[:, None] + (shape["Skv"] - shape["Sq"])
    distance = torch.arange(shape["Skv"], device=device)[None, :] - position
    seen = torch.ones_like(distance, dtype=torch.bool)
    if left >= 0:
        seen &= distance >= -left
    if right >= 0:
        seen &= distance <= right
    return seen


def extras_of(shape):
    """What a function is given by name."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in shape.items() if key not in DENSE}


def refusal(backend, shape):
    """Why a case is not given to a backend at all; None when it is."""
    if shape.get("lse"):
        return NO_LSE
    if extras_of(shape):
        return f"{', '.join(extras_of(shape))} must be left out: PyTorch's scaled_dot_product_attention has no such parameter"
    if shape["causal"] and shape["Sq"] > shape["Skv"]:
        return "Sq must be at most Skv under a causal mask: PyTorch gives NaN for rows that attend no key"
    if shape["causal"] and shape["Sq"] != shape["Skv"] and backend == "cudnn":
        return "causal needs Sq = Skv: PyTorch gives its cuDNN backend no mask that is aligned bottom-right"
    return None


class Backend:
    """One of PyTorch's own backends."""

    def __init__(self, name):
        self.name, self.variant = name, f"torch_{name}"

    def refusal(self, shape):
        return refusal(self.name, shape)

    def adds_mask(self, shape):
        """Does PyTorch add the mask to the scores? A NaN behind it comes through then."""
        return bool(shape["causal"]) and (self.name == "math" or (self.name == "efficient" and shape["Sq"] != shape["Skv"]))

    def context(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        return sdpa_kernel(getattr(SDPBackend, BACKENDS[self.name]))

    def call_of(self, torch, shape, q, k, v):
        return attention_of(torch, self.name, shape, q, k, v)


class Function:
    """A function of the user's."""

    def __init__(self, spec, function):
        self.spec, self.function, self.variant = spec, function, variant_of(spec)

    def takes(self, name):
        """Has the function a parameter of this name?"""
        parameters = inspect.signature(self.function).parameters.values()
        return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)

    def refusal(self, shape):
        unknown = [name for name in extras_of(shape) if not self.takes(name)]
        if shape.get("lse"):
            return NO_LSE
        if unknown:
            return f"{unknown[0]} must be left out: {self.spec} has no parameter of this name"
        if is_masked(shape) and shape["Sq"] > shape["Skv"]:
            return "Sq must be at most Skv under a mask: what rows that attend no key give is not agreed upon"
        return None

    def adds_mask(self, _shape):
        return False

    def context(self):
        return contextlib.nullcontext()

    def call_of(self, torch, shape, q, k, v, sink=None):
        extras, scale = extras_of(shape), 1.0 / math.sqrt(shape["D"])
        if sink is not None:
            extras["sink"] = sink
        causal = bool(shape["causal"]) and "window" not in extras

        def call():
            out = self.function(q, k, v, causal, scale, **extras)
            wanted = (*q.shape[:3], v.shape[3])
            if not isinstance(out, torch.Tensor) or out.shape != wanted or out.dtype != q.dtype:
                told = f"{tuple(out.shape)} of {out.dtype}" if isinstance(out, torch.Tensor) else f"a {type(out).__name__}"
                raise TypeError(f"{self.spec} gave {told}, not {wanted} of {q.dtype}")
            return out
        return call


def variant_of(spec):
    """What the rows of package.module:function are called."""
    return "py_" + re.sub(r"[^a-z0-9_]", "_", spec.split(":")[1].lower())


def import_function(spec):
    module, name = spec.split(":")
    sys.path.insert(0, os.getcwd())
    try:
        function = getattr(importlib.import_module(module), name, None)
    except Exception as error:  # whatever the module raises while it is imported
        raise Failure(program.USAGE, f"--callable {spec}: {module} cannot be imported: {type(error).__name__}: "
                                     f"{first_line(error)}") from error
    finally:
        sys.path.pop(0)
    if not callable(function):
        raise Failure(program.USAGE, f"--callable {spec}: {module} has no function {name}")
    return Function(spec, function)


def attention_of(torch, backend, shape, q, k, v):
    """A function that computes the output once."""
    sdpa = torch.nn.functional.scaled_dot_product_attention
    options = {"enable_gqa": True} if shape["Hq"] != shape["Hkv"] else {}
    if shape["causal"] and shape["Sq"] != shape["Skv"]:
        if backend == "flash":
            from torch.nn.attention.bias import causal_lower_right
            options["attn_mask"] = causal_lower_right(shape["Sq"], shape["Skv"])
        else:
            ones = torch.ones(shape["Sq"], shape["Skv"], dtype=torch.bool, device=q.device)
            options["attn_mask"] = ones.tril(shape["Skv"] - shape["Sq"])
    elif shape["causal"]:
        options["is_causal"] = True
    return lambda: sdpa(q, k, v, **options)


def oracle_rows(torch, shape, q, k, v, sink=None):
    """Yields (batch, head, fp64 output, sum_j p_j^2 |v_j|^2, largest |score| and sum_j |v_j|^2 over the keys seen of each row), one head at
    a time to bound memory."""
    group = shape["Hq"] // shape["Hkv"]
    seen = seen_keys(torch, shape, q.device)
    mask = None if seen is None else ~seen
    for b in range(shape["B"]):
        for h in range(shape["Hq"]):
            keys, values = k[b, h // group].double(), v[b, h // group].double()
            score = q[b, h].double() @ keys.T / math.sqrt(shape["D"])
            if shape.get("softcap"):
                score = shape["softcap"] * torch.tanh(score / shape["softcap"])
            largest = (score if mask is None else score.masked_fill(mask, 0.0)).abs().amax(dim=-1)
            if mask is not None:
                score = score.masked_fill(mask, -math.inf)
            if sink is not None:
                score = torch.cat([score, sink[h].double().expand(shape["Sq"], 1)], dim=-1)
                largest = torch.maximum(largest, sink[h].double().abs())
            p = torch.softmax(score, dim=-1)[:, :shape["Skv"]]
            square = (values * values).sum(dim=-1)
            seen_square = square.sum().expand(shape["Sq"]) if seen is None else torch.where(seen, square, 0.0).sum(dim=-1)
            yield b, h, p @ values, (p * p) @ square, largest, seen_square


def keys_of_rows(torch, shape, device):
    """How many keys each query row attends."""
    seen = seen_keys(torch, shape, device)
    return torch.full((shape["Sq"],), float(shape["Skv"]), device=device).double() if seen is None else seen.sum(dim=-1).double()


def with_truncation(bounds, device):
    """The bounds for kernels on this device that may add on its tensor cores, which truncate: those of 16-bit types on a
    GPU (bench_tolerance in kernels/device.c)."""
    steps, most = bounds["truncation"]["step_keys"], device["cc_major"]
    keys = steps[max((cc for cc in steps if int(cc) <= most), key=int)] if device["kind"] == "cuda" else 0
    return {**bounds, **{dtype: {**bounds[dtype], "step_keys": keys if dtype != "f32" else 0} for dtype in ("f16", "bf16", "f32")}}


def unit_of(torch, tolerance, shape, keys, largest):
    """The roundoff of each row: kernels/bounds.h."""
    tanh_error = (2.0**-22 if shape["dtype"] == "f32" else 2.0**-11) if shape.get("softcap") else 0.0
    return tolerance["relative"] + 2.0**-24 * (8 + 2 * torch.sqrt(keys) + 2 * math.sqrt(shape["D"]) * (1 + largest)) + tanh_error * largest


def compare(torch, bounds, shape, inputs, out):
    """One output against the fp64 oracle, by the bounds of element, row and whole output that results/README.md gives.
    Rows that attend a NaN have no defined output and are left out."""
    tolerance, columns, truncation = bounds[shape["dtype"]], v_columns(shape), bounds["truncation"]
    step_keys = tolerance.get("step_keys", 0)
    smallest, keys = tolerance["absolute"], keys_of_rows(torch, shape, out.device)
    flushed = 2.0**-126 * math.sqrt(shape["Skv"]) if shape.get("sink") else 0.0
    absolute = smallest + flushed
    found = {"rows": 0, "nan_count": 0, "inf_count": 0, "bad_count": 0, "bad_rows": 0, "first_bad": None, "max_abs_error": 0.0,
             "max_bound_ratio": 0.0, "max_row_ratio": 0.0}
    error_square, reference_square, bound_square = 0.0, 0.0, 0.0
    for b, h, *oracle in oracle_rows(torch, shape, *inputs):
        defined = ~torch.isnan(oracle[0]).any(dim=-1)
        reference, spread_square, scores, seen_square = (part[defined] for part in oracle)
        o, places = out[b, h][defined].double(), torch.arange(shape["Sq"], device=out.device)[defined]
        finite = torch.isfinite(o)
        error = torch.where(finite, (o - reference).abs(), torch.zeros_like(o))
        unit, spread = unit_of(torch, tolerance, shape, keys[defined], scores), torch.sqrt(spread_square)
        size_square, row_error = (reference * reference).sum(dim=-1), torch.sqrt((error * error).sum(dim=-1))
        lost = smallest * torch.sqrt(keys[defined] * seen_square) if shape.get("sink") else 0.0
        truncated = 2.0**-24 * torch.ceil(keys[defined] / step_keys) if step_keys else torch.zeros_like(spread)
        row_error_bound = (unit + truncation["spread"] * truncated) * spread + lost
        element_spread = bounds["element_spread"] * row_error_bound / math.sqrt(columns)
        drift, random = truncation["mean"] * truncated, bounds["element_spread"] / math.sqrt(columns)
        element_drift = drift[:, None] * (reference.abs() - random * spread[:, None]).clamp(0, math.inf)
        row_drift = drift * (torch.sqrt(size_square) - (1 + random) * spread).clamp(0, math.inf)
        bound = element_spread[:, None] + 2 * unit[:, None] * reference.abs() + element_drift + absolute
        row_bound = row_error_bound + 2 * unit * torch.sqrt(size_square) + row_drift + absolute * math.sqrt(columns)
        wrong = (error > bound) | ~finite
        wrong_rows = (row_error > row_bound) | wrong.any(dim=-1)
        if found["first_bad"] is None and bool(wrong_rows.any()):
            row = int(wrong_rows.int().argmax())
            place = (b * shape["Hq"] + h) * shape["Sq"] + int(places[row])
            found["first_bad"] = place * columns + int(wrong[row].int().argmax())
        for key, count in (("rows", len(places)), ("nan_count", torch.isnan(o).sum()), ("inf_count", torch.isinf(o).sum()),
                           ("bad_count", wrong.sum()), ("bad_rows", wrong_rows.sum())):
            found[key] += int(count)
        for key, ratio in (("max_abs_error", error), ("max_bound_ratio", error / bound), ("max_row_ratio", row_error / row_bound)):
            found[key] = max(found[key], float(ratio.max()))
        error_square += float((error * error).sum())
        reference_square += float(size_square.sum())
        bound_square += float((row_error_bound * row_error_bound + unit * unit * size_square + row_drift * row_drift + absolute**2 * columns).sum())
    found["rel_frobenius"] = math.sqrt(error_square) / (math.sqrt(reference_square) if reference_square > 0 else 1)
    found["norm_ratio"] = math.sqrt(error_square / bound_square) / tolerance["frobenius"]
    return found


class Check:
    """All comparisons of a row, taken up as cli/measure/check.c does: the first that is wrong stays, else the worst on
    random inputs, and of those on hard inputs the worst ratio."""

    def __init__(self):
        self.right, self.after_timing, self.launch, self.launches, self.hard_ratio, self.found = True, False, 0, 0, None, None

    def take(self, found, launch):
        right = found["bad_count"] == 0 and found["bad_rows"] == 0 and (launch > 0 or found["norm_ratio"] <= 1)
        worst = max(found["max_bound_ratio"], found["max_row_ratio"])
        self.launches += 1
        if launch > 0:
            self.hard_ratio = max(self.hard_ratio or 0.0, worst)
        if not self.right:
            return
        worse = self.found is not None and worst > max(self.found["max_bound_ratio"], self.found["max_row_ratio"])
        if self.found is None or not right or (launch == 0 and worse):
            self.found, self.launch = found, launch
        self.right = right

    def record(self, tolerance, columns):
        """As reports have it."""
        found = dict(self.found)
        rows = {key: found.pop(key) for key in ("rows", "bad_rows", "max_row_ratio", "norm_ratio")}
        hard = {} if self.hard_ratio is not None else {"hard_ratio_reason": "no launch on hard inputs"}
        return {
            "right": self.right, "after_timing": self.after_timing,
            "oracle": {"name": "torch_fp64", "rows_verified": 0, "max_difference": 0}, **found,
            "elements": rows["rows"] * columns, "tolerance": tolerance,
            "redzone_bytes_changed": 0, "redzone_first": None, "input_elements_changed": 0,
            "evidence": {"launches": self.launches, "launch": self.launch, **rows, "hard_ratio": self.hard_ratio, **hard,
                         "timed_samples": 0, "timed_wrong": 0, "seconds": None,
                         "seconds_reason": "this script does not time its check"}}


# ---- statistics: cli/base/stats.c ------------------------------------------------------------------------------------

def quantile(ordered, p):
    position = p * (len(ordered) - 1)
    below = int(position)
    if below + 1 >= len(ordered):
        return ordered[-1]
    return ordered[below] + (position - below) * (ordered[below + 1] - ordered[below])


def interval_rank(n):
    """Largest rank k with P(Binomial(n, 1/2) <= k) <= 2.5 %; 0 when there is none."""
    log_mass, rank = -n * math.log(2.0), 0
    cumulative = math.exp(log_mass)
    for k in range(1, n // 2 + 1):
        log_mass += math.log((n - k + 1) / k)
        cumulative += math.exp(log_mass)
        if cumulative > 0.025:
            break
        rank = k
    return rank


def stats_of(samples):
    s = sorted(samples)
    rank, median = interval_rank(len(s)), quantile(s, 0.5)
    return {"n": len(s), "min_us": s[0], "p25_us": quantile(s, 0.25), "median_us": median, "p75_us": quantile(s, 0.75),
            "p95_us": quantile(s, 0.95), "max_us": s[-1], "mad_us": quantile(sorted(abs(x - median) for x in s), 0.5),
            "ci95_low_us": s[rank], "ci95_high_us": s[len(s) - 1 - rank]}


def stop_reason(timing, stats, elapsed_s):
    half_width = (stats["ci95_high_us"] - stats["ci95_low_us"]) / 2
    is_slow = timing["slow_s"] > 0 and elapsed_s >= timing["slow_s"] * stats["n"]
    enough = timing["few_samples" if is_slow else "min_samples"]
    if stats["n"] >= enough and half_width <= timing["relative_half_width"] * stats["median_us"]:
        return "interval"
    if stats["n"] >= timing["max_samples"]:
        return "max_samples"
    return "budget" if stats["n"] >= timing["floor_samples"] and elapsed_s >= timing["budget_s"] else None


# ---- timing -----------------------------------------------------------------------------------------------------

def hot_launches(timing, estimate_us):
    """How many calls a hot sample holds."""
    return int(min(max(timing["hot_sample_us"] / estimate_us, 1), timing["hot_launches_max"]))


class CudaTimer:
    def __init__(self, torch, l2_bytes, timing):
        self.torch, self.timing = torch, timing
        self.flush = torch.zeros(max(timing["flush_over_l2"] * l2_bytes // 4, 1), dtype=torch.int32, device="cuda")
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self.graph, self.launches = None, 1

    def timed(self, work, flush):
        """Microseconds of what `work` queues, with the queueing itself hidden behind a sleeping kernel."""
        if flush:
            self.flush.max()
        self.torch.cuda._sleep(SLEEP_CYCLES)
        self.events[0].record()
        work()
        self.events[1].record()
        self.torch.cuda.synchronize()
        return self.events[0].elapsed_time(self.events[1]) * 1e3

    def prepare(self, call):
        torch, side = self.torch, self.torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(side)
        estimate_us = min(self.timed(call, False) for _ in range(3))
        self.launches = hot_launches(self.timing, estimate_us)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(self.launches):
                call()

    def sample(self, call, mode):
        if mode == "cold":
            return self.timed(call, True)
        return self.timed(self.graph.replay, False) / self.launches


class CpuTimer:
    """For machines without a GPU: the same report from the wall clock, with caches flushed by a large buffer."""

    def __init__(self, torch, l2_bytes, timing):
        self.timing = timing
        self.flush, self.launches = torch.zeros(min(2 * l2_bytes, 1 << 28) // 4 + 1, dtype=torch.int32), 1

    def prepare(self, call):
        start = time.perf_counter()
        call()
        self.launches = hot_launches(self.timing, (time.perf_counter() - start) * 1e6)

    def sample(self, call, mode):
        launches = 1 if mode == "cold" else self.launches
        if mode == "cold":
            self.flush += 1
        start = time.perf_counter()
        for _ in range(launches):
            call()
        return (time.perf_counter() - start) * 1e6 / launches


def settle(timer, call, mode):
    """Warms up until the medians of two successive windows are alike: (seconds, whether they were)."""
    timing, start, previous = timer.timing, time.monotonic(), math.inf
    while True:
        window, window_start = [], time.monotonic()
        while len(window) < 2 or time.monotonic() - window_start < timing["settle_min_s"]:
            window.append(timer.sample(call, mode))
        median, elapsed_s = quantile(sorted(window), 0.5), time.monotonic() - start
        if abs(median - previous) < timing["settle_relative"] * median:
            return elapsed_s, True
        if elapsed_s >= timing["settle_max_s"]:
            return elapsed_s, False
        previous = median


def measure(timer, call, mode):
    timing, samples, reason = timer.timing, [], None
    warmup_s, settled = settle(timer, call, mode)
    start = time.monotonic()
    while reason is None:
        samples += [timer.sample(call, mode) for _ in range(min(10, timing["max_samples"] - len(samples)))]
        stats = stats_of(samples)
        reason = stop_reason(timing, stats, time.monotonic() - start)
    record = {**stats, "stop": reason, "launches_per_sample": timer.launches if mode == "hot" else 1,
              "settled": settled, "warmup_s": warmup_s, "elapsed_s": time.monotonic() - start}
    for key in ("sm_clock_mhz", "power_w", "temperature_c"):
        record[key], record[key + "_reason"] = None, NOT_READ
    return {**record, "throttle_reasons": []}


# ---- one row ----------------------------------------------------------------------------------------------------

def blank_row(case, variant, device):
    return {"key": case["key"], "variant": variant, "shape": case["shape"], "status": "ok",
            "math": MATH[device][case["shape"]["dtype"]], "reason": None, "check": None, "flops": case["flops"],
            "bytes": case["bytes"], "flop_per_byte": case["flop_per_byte"], "traffic": None, "time": None,
            "tflop_per_s": None, "gb_per_s": None, "roof": None, "roof_reason": NOT_READ, "speedup_vs": None,
            "speedup_vs_reason": "not measured in turns with anything", "plan": None, "launches": [], "findings": [],
            "scaling": None, "wall_s": 0.0, "gpu_s": 0.0}


def first_line(text):
    return " ".join(str(text).split())[:380] or "no reason given"


def wrong_reason(check, shape):
    found, place = check.found, ""
    if found["first_bad"] is not None:
        row, d = divmod(found["first_bad"], v_columns(shape))
        head, query = divmod(row, shape["Sq"])
        place = f"; first at [b={head // shape['Hq']}, h={head % shape['Hq']}, q={query}, d={d}]"
    when = f" on hard inputs (launch {check.launch})" if check.launch else " in a check after timing" if check.after_timing else ""
    return (f"{found['bad_count']} of {found['rows'] * v_columns(shape)} elements, {found['bad_rows']} of {found['rows']} rows differ from "
            f"the fp64 oracle beyond tolerance{when}, and the whole output by {found['norm_ratio']:.3g} of its bound "
            f"({found['nan_count']} NaN, {found['inf_count']} Inf; largest error {found['max_abs_error']:.3g}{place})")


def check_launches(torch, subject, shape, launches, bounds, check):
    """Takes up each launch, until one is wrong."""
    for number, inputs in enumerate(launches):
        q, k, v, *others = inputs
        if subject.adds_mask(shape):
            k = torch.nan_to_num(k)
        check.take(compare(torch, bounds, shape, inputs, subject.call_of(torch, shape, q, k, v, *others)()), number)
        if not check.right:
            return


def run_subject(torch, subject, row, launches, timer, bounds):
    """Fills the row; what PyTorch or the function refuses is raised."""
    shape, check = row["shape"], Check()
    check_launches(torch, subject, shape, launches, bounds, check)
    if check.right and timer is not None:
        call = subject.call_of(torch, shape, *launches[0])
        timer.prepare(call)
        row["time"] = {mode: measure(timer, call, mode) for mode in ("hot", "cold")}
        check.after_timing = True
        check.take(compare(torch, bounds, shape, launches[0], call()), 0)
    row["check"] = check.record(bounds[shape["dtype"]], v_columns(shape))
    if not check.right:
        row["status"], row["reason"], row["time"] = "wrong", wrong_reason(check, shape), None
    if row["time"] is None:
        return
    us = {mode: record["median_us"] for mode, record in row["time"].items()}
    row["tflop_per_s"] = {mode: row["flops"] / us[mode] * 1e-6 for mode in ("cold", "hot")}
    row["gb_per_s"] = {mode: row["bytes"] / us[mode] * 1e-3 for mode in ("cold", "hot")}
    row["roof"] = {"cold": None, "hot": None}


def status_of(subject, error):
    """Is a case refused, or did it fail?"""
    if isinstance(subject, Function):
        return "skipped" if isinstance(error, NotImplementedError) else "error"
    return "skipped" if any(text in str(error) for text in REFUSALS) else "error"


def measure_row(torch, case, subject, launches, timer, bounds, device):
    row, start, status = blank_row(case, subject.variant, device), time.monotonic(), "skipped"
    reason = subject.refusal(case["shape"])
    caught = Exception if isinstance(subject, Function) else (RuntimeError, NotImplementedError, ValueError)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            if reason is None:
                with torch.no_grad(), subject.context():
                    run_subject(torch, subject, row, launches, timer, bounds)
        except caught as error:
            if "CUDA error" in str(error):  # the context is gone: no later row could be trusted
                raise
            status = status_of(subject, error)
            why = "; ".join([str(error)] + [str(w.message).split(" (Triggered")[0] for w in said])
            who = f"{subject.spec}: {type(error).__name__}" if isinstance(subject, Function) else "PyTorch"
            reason = f"{who}: {first_line(why)}"[:390]
    if reason is not None:
        row.update(status=status, reason=reason, check=None, time=None)
    row["wall_s"] = row["gpu_s"] = time.monotonic() - start
    return row


# ---- the report -------------------------------------------------------------------------------------------------

def attnbench_json(attnbench, *arguments, given=None):
    done = program.execute([attnbench, *arguments], given)
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise Failure(program.code_of(done.returncode), f"{shlex.join([attnbench, *arguments])} ended with "
                                                        f"{done.returncode}: {done.stderr.strip()}") from error


def device_of(attnbench, kind):
    """The device as attnbench describes it, from a run that measures nothing to speak of."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"attnbench_sweep": 1, "name": "device", "shapes": [{"B": 1, "H": 1, "S": 16, "D": 64}]}, file)
        file.flush()
        variant = "wmma" if kind == "cuda" else "cpu_flash"
        return attnbench_json(attnbench, "--sweep", file.name, "--device", kind, "--check-only", "--variants", variant,
                              "--json", "-")["device"]


def write_report(plan, device, rows, state, arguments, started, versions):
    """Returns the exit code of a report with these rows."""
    cells = len(plan["results"]) * len(arguments.subjects)
    counts = {status: sum(row["status"] == status for row in rows) for status in STATUSES}
    wall_s, gpu_s = time.time() - started, sum(row["gpu_s"] for row in rows)
    exit_code = program.WRONG if counts["wrong"] else program.COVERAGE if counts["error"] or len(rows) < cells else 0
    utc = datetime.datetime.fromtimestamp(started, datetime.timezone.utc)
    report = {
        "schema": plan["schema"], "tool": plan["tool"],
        "run": {"started_utc": utc.strftime("%Y-%m-%dT%H:%M:%SZ"), "command": f"{shlex.join(sys.argv)} # {versions}",
                "seed": arguments.seed, "filter": None, "cells": cells, "state": state, "wall_s": wall_s,
                "gpu_s": gpu_s, "overhead_s": wall_s - gpu_s},
        "device": device, "planned_device": None, "sweep": plan["sweep"], "results": rows,
        "summary": {"cells": len(rows), **counts, "exit_code": exit_code}}
    files.write_whole(arguments.json, files.json_text(report))
    return exit_code


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweep", required=True, metavar="FILE",
                        help="the cases: a sweep, the name of one that attnbench comes with, or - for stdin")
    parser.add_argument("--json", required=True, metavar="FILE", help="write the report here; - is stdout")
    parser.add_argument("--backends", metavar="A,B", help="of " + ", ".join(BACKENDS) + " (default: all, or none when --callable is given)")
    parser.add_argument("--callable", action="append", default=[], metavar="MODULE:FUNCTION",
                        help="measure this function, as above; its rows are called py_FUNCTION; repeat for more")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the inputs, as attnbench's (default: 1)")
    parser.add_argument("--check-only", action="store_true", help="check, take no times")
    program.add_attnbench_option(parser)
    arguments = parser.parse_args()
    if arguments.backends is None:
        arguments.backends = "" if arguments.callable else ",".join(BACKENDS)
    arguments.backends = arguments.backends.split(",") if arguments.backends else []
    for spec in arguments.callable:
        if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec):
            parser.error(f"--callable: {spec} is not of the form package.module:function")
        if [variant_of(other) for other in arguments.callable].count(variant_of(spec)) > 1:
            parser.error(f"--callable: two functions would be called {variant_of(spec)}")
    for backend in arguments.backends:
        if backend not in BACKENDS:
            parser.error(f"--backends: {backend} is not one of {', '.join(BACKENDS)}")
        if arguments.backends.count(backend) > 1:
            parser.error(f"--backends: {backend} is named twice")
    if not 0 <= arguments.seed < 2**64:
        parser.error(f"--seed: {arguments.seed} is not from 0 to 2^64 - 1")
    return arguments


def measure_cases(torch, plan, arguments, timer, bounds):
    """Yields a row per case and subject."""
    for case in plan["results"]:
        launches = launches_of(torch, arguments.attnbench, case, arguments.seed, arguments.device)
        for subject in arguments.subjects:
            row = measure_row(torch, case, subject, launches, timer, bounds, arguments.device)
            median = row["time"] and f"{row['time']['hot']['median_us']:.4g} us hot"
            print(f"{case['key']} {subject.variant}: {median or row['status']}", file=sys.stderr)
            yield row


def take_rows(measured):
    """(the rows that came, what ended them before their end or None)."""
    rows = []
    try:
        for row in measured:
            rows.append(row)
    except KeyboardInterrupt:
        return rows, Failure(128 + signal.SIGINT, "interrupted; the report holds the rows until then")
    except SystemExit as stopped:
        return rows, Failure(stopped.code, "terminated; the report holds the rows until then")
    except RuntimeError as error:  # PyTorch's, such as a device that failed
        return rows, Failure(program.INTERNAL, f"PyTorch: {first_line(error)}; the report holds the rows until then")
    return rows, None


def import_torch(device):
    try:
        import torch
    except ImportError as error:
        raise Failure(program.INTERNAL, "needs PyTorch; pip install torch") from error
    if device == "cuda" and not torch.cuda.is_available():
        raise Failure(program.NO_GPU, "no CUDA device for PyTorch; --device cpu measures on the CPU")
    return torch


def main():
    arguments, started = parse_arguments(), time.time()
    files.check_output(arguments.json)
    files.check_apart(arguments.json, shutil.which(arguments.attnbench) or arguments.attnbench)
    torch = import_torch(arguments.device)
    torch.backends.cuda.matmul.allow_tf32 = False
    arguments.subjects = [*map(Backend, arguments.backends), *map(import_function, arguments.callable)]
    files.check_apart(arguments.json, *filter(None, (getattr(module, "__file__", None) for module in sys.modules.values())))
    given = sys.stdin.read() if arguments.sweep == "-" else None
    plan = attnbench_json(arguments.attnbench, "plan", "--sweep", arguments.sweep, "--gpu", "h200", "--variants", "cpu_ref", "--json", "-",
                          given=given)
    device = device_of(arguments.attnbench, arguments.device)
    constants = attnbench_json(arguments.attnbench, "list", "--json")
    timing = constants["timing"][arguments.device]
    timer_type = CudaTimer if arguments.device == "cuda" else CpuTimer
    timer = None if arguments.check_only else timer_type(torch, device["l2_bytes"], timing)
    rows, ended = take_rows(measure_cases(torch, plan, arguments, timer, with_truncation(constants["check"], device)))
    versions = f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"
    exit_code = write_report(plan, device, rows, "interrupted" if ended else "complete", arguments, started, versions)
    if ended:
        raise ended
    return exit_code


if __name__ == "__main__":
    program.run_main(main)
