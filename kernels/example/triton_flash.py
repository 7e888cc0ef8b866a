"""A plain flash-attention forward in Triton. Launched from Python:

    attnbench --sweep prefill --filter D=64 --load kernels/example/triton_flash.py:attention

or, where runs and plans are to do without Python, as a cubin and a manifest that scripts/export_triton.py makes of it:

    scripts/export_triton.py kernels/example/triton_flash.py --D 64 --dtype f16 --out triton/
    attnbench --sweep prefill --filter D=64 --load triton/triton_flash_d64_f16_full.json

Idea: a program owns BLOCK_M query rows of a head and walks over tiles of BLOCK_N keys with an online softmax; tiles that
no mask touches come first, without a mask. No autotuning: the settings below were the fastest of five on an H200.
"""

import triton
import triton.language as tl


@triton.jit
def attend(acc, top, total, q, k_head, v_head, rows, first, last, Sq, Skv, scale_log2,
           D: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr):
    """Keys first to last - 1, in tiles."""
    d = tl.arange(0, D)
    for start in tl.range(first, last, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        at = keys[:, None].to(tl.int64) * D + d[None, :]
        if MASKED:
            k = tl.load(k_head + at, mask=keys[:, None] < Skv, other=0.0)
            v = tl.load(v_head + at, mask=keys[:, None] < Skv, other=0.0)
        else:
            k = tl.load(k_head + at)
            v = tl.load(v_head + at)
        score = tl.dot(q, tl.trans(k)) * scale_log2
        if MASKED:
            seen = keys[None, :] < Skv
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None] + (Skv - Sq))
            score = tl.where(seen, score, float("-inf"))
        new_top = tl.maximum(top, tl.max(score, 1))
        base = tl.where(new_top == float("-inf"), 0.0, new_top)  # a row without keys so far
        weights = tl.exp2(score - base[:, None])
        keep = tl.exp2(top - base)
        total = total * keep + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * keep[:, None])
        top = new_top
    return acc, top, total


@triton.jit
def triton_flash(Q, K, V, Out, Sq, Skv, group, scale_log2,
                 D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    first_row = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1).to(tl.int64)
    rows = first_row + tl.arange(0, BLOCK_M)
    at = head * Sq * D + rows[:, None].to(tl.int64) * D + tl.arange(0, D)[None, :]
    k_head = K + head // group * Skv * D
    v_head = V + head // group * Skv * D
    q = tl.load(Q + at, mask=rows[:, None] < Sq, other=0.0)

    # Keys that all rows attend, in whole tiles; then those that some do.
    shared = Skv
    last = Skv
    if CAUSAL:
        shared = tl.minimum(tl.maximum(first_row + 1 + Skv - Sq, 0), Skv)
        last = tl.minimum(tl.maximum(first_row + BLOCK_M + Skv - Sq, 0), Skv)
    shared = shared // BLOCK_N * BLOCK_N
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc, top, total = attend(acc, top, total, q, k_head, v_head, rows, 0, shared, Sq, Skv, scale_log2,
                             D, BLOCK_N, CAUSAL, False)
    acc, top, total = attend(acc, top, total, q, k_head, v_head, rows, shared, last, Sq, Skv, scale_log2,
                             D, BLOCK_N, CAUSAL, True)
    out = acc / tl.where(total > 0, total, 1.0)[:, None]  # a row that attends no key has an output of zeros
    tl.store(Out + at, out.to(Out.dtype.element_ty), mask=rows[:, None] < Sq)


def attention(q, k, v, causal, scale):
    """One launch on PyTorch's current stream."""
    import torch
    B, Hq, Sq, D = q.shape
    if D not in (32, 64, 128) or v.shape[3] != D or q.dtype == torch.float32:
        raise NotImplementedError("D must be 32, 64 or 128, and the dtype of 16 bits")
    out = torch.empty_like(q)
    triton_flash[(triton.cdiv(Sq, 128), B * Hq)](q, k, v, out, Sq, k.shape[2], Hq // k.shape[1], scale * 1.4426950408889634, D=D, BLOCK_M=128,
                                                 BLOCK_N=64, CAUSAL=causal, num_warps=8, num_stages=3)
    return out


def attnbench(D, dtype, causal):
    """What export_triton.py asks: the kernel of this head dimension, type and mask."""
    if D not in (32, 64, 128) or dtype == "f32":
        return None
    return {
        "kernel": triton_flash,
        "about": "plain flash attention in Triton, 128 query rows per program",
        "math": "wgmma",
        # By the name of the kernel's parameter, as a manifest's "arguments" has them.
        "arguments": {"Q": "q", "K": "k", "V": "v", "Out": "o", "Sq": {"i32": "Sq"}, "Skv": {"i32": "Skv"},
                      "group": {"i32": "Hq / Hkv"}, "scale_log2": {"f32": "scale_log2"}},
        "constexprs": {"D": D, "BLOCK_M": 128, "BLOCK_N": 64, "CAUSAL": causal},
        "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["ceil_div(Sq, BLOCK_M)", "B * Hq"],
        "axis_covers": ["Q", "B*H"],
        "tile_q": "BLOCK_M", "tile_kv": "BLOCK_N", "stages": 3,
    }
