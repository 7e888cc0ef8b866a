"""Python functions for tests/measure/callable.bats: attention in NumPy, and ways to be wrong or worse."""
import os
import signal
import threading
import time

import numpy as np

NUMBER = 3


def right(q, k, v, causal=False, scale=1.0, window=None, softcap=0.0, sink=None, lse=False):
    rows, keys, group = q.shape[2], k.shape[2], q.shape[1] // k.shape[1]
    k, v = (np.repeat(x.astype(np.float32), group, 1) for x in (k, v))
    score = q.astype(np.float32) @ k.swapaxes(-1, -2) * scale
    if softcap:
        score = softcap * np.tanh(score / softcap)
    left, right_bound = window if window else (-1, 0 if causal else -1)
    distance = np.arange(keys)[None, :] - np.arange(rows)[:, None] - (keys - rows)
    seen = np.ones(distance.shape, bool)
    if left >= 0:
        seen &= distance >= -left
    if right_bound >= 0:
        seen &= distance <= right_bound
    logit = np.full((1, q.shape[1], 1, 1), -np.inf) if sink is None else sink[None, :, None, None]
    top = np.maximum(np.where(seen, score, -np.inf).max(-1, keepdims=True), logit)
    top = np.where(np.isfinite(top), top, 0)
    weight = np.where(seen, np.exp(np.where(seen, score, 0) - top), 0)
    total = weight.sum(-1, keepdims=True) + np.exp(logit - top)
    with np.errstate(all="ignore"):
        hidden = ~seen.any(0)  # a NaN that no row sees must not come through 0 * NaN
        v[:, :, hidden] = 0
        o = weight @ np.where(np.isnan(v), 0, v) / np.where(total > 0, total, 1)
        o[np.broadcast_to((seen & np.isnan(v).any(-1)[:, :, None, :]).any(-1)[..., None], o.shape)] = np.nan
        return (o.astype(q.dtype), (top + np.log(total))[..., 0]) if lse else o.astype(q.dtype)


def packed(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, lse=False, **options):
    """Sequences of unlike lengths behind one another: [tokens, heads, columns]."""
    assert max_seqlen_q == np.diff(cu_seqlens_q).max() and max_seqlen_k == np.diff(cu_seqlens_k).max()
    o, log_sums = np.zeros(q.shape[:2] + v.shape[2:], q.dtype), np.full((q.shape[1], q.shape[0]), -np.inf, np.float32)
    for i in range(len(cu_seqlens_q) - 1):
        rows, keys = (slice(offsets[i], offsets[i + 1]) for offsets in (cu_seqlens_q, cu_seqlens_k))
        if rows.start == rows.stop or keys.start == keys.stop:
            continue
        of_one = right(*(x[part].swapaxes(0, 1)[None] for x, part in ((q, rows), (k, keys), (v, keys))), lse=True, **options)
        o[rows], log_sums[:, rows] = of_one[0][0].swapaxes(0, 1), of_one[1][0]
    return (o, log_sums) if lse else o


def paged(q, k, v, page_table, max_seqlen_k, cu_seqlens_q=None, cu_seqlens_k=None, max_seqlen_q=0, lse=False, **options):
    """K and V in pages of [tokens, heads, columns]; sequences of one length, or of unlike ones."""
    def sequence(b):
        keys = max_seqlen_k if cu_seqlens_k is None else cu_seqlens_k[b + 1] - cu_seqlens_k[b]
        rows = q[b] if cu_seqlens_q is None else q[cu_seqlens_q[b]:cu_seqlens_q[b + 1]].swapaxes(0, 1)
        gathered = [x[page_table[b]].reshape((-1,) + x.shape[2:])[:keys].swapaxes(0, 1)[None] for x in (k, v)]
        if not rows.shape[1] or not keys:
            return np.zeros(rows.shape[:2] + v.shape[3:], q.dtype), np.full(rows.shape[:2], -np.inf, np.float32)
        o, log_sums = right(rows[None], *gathered, lse=True, **options)
        return o[0], log_sums[0]
    parts = [sequence(b) for b in range(len(page_table))]
    if cu_seqlens_q is None:
        o, log_sums = (np.stack(part) for part in zip(*parts))
    else:
        o, log_sums = (np.concatenate(part, 1) for part in zip(*parts))
        o = o.swapaxes(0, 1)
    return (o, log_sums) if lse else o


def scaled(q, k, v, k_scale, v_scale, q_scale=None, **options):
    """Numbers of e4m3 with scales of each kind; of blocks, each is that of 128 keys."""
    def values(x, scale, group):
        if scale is None:
            return x
        if scale.ndim == 3:
            return x * np.repeat(scale, 128, 2)[:, :, :x.shape[2], None]
        return x * (scale if scale.ndim == 1 else np.repeat(scale, group, 1)[:, :, None, None])
    return right(values(q, q_scale, q.shape[1] // k.shape[1]), values(k, k_scale, 1), values(v, v_scale, 1), **options)


def listed(q, k, v, block_counts, block_indices, block_size, causal, scale, lse=False):
    """Attention over lists of blocks, one row at a time."""
    rows, keys, group = q.shape[2], k.shape[2], q.shape[1] // k.shape[1]
    o, log_sums = np.zeros(q.shape[:3] + v.shape[3:], q.dtype), np.full(q.shape[:3], -np.inf, np.float32)
    for b, h, row in np.ndindex(q.shape[:3]):
        blocks = block_indices[b, h, row // block_size, :block_counts[b, h, row // block_size]]
        seen = np.isin(np.arange(keys) // block_size, blocks) & (not causal or np.arange(keys) <= row + keys - rows)
        if not seen.any():
            continue
        score = k[b, h // group, seen].astype(np.float64) @ q[b, h, row].astype(np.float64) * scale
        weight = np.exp(score - score.max())
        o[b, h, row] = weight @ v[b, h // group, seen].astype(np.float64) / weight.sum()
        log_sums[b, h, row] = score.max() + np.log(weight.sum())
    return (o, log_sums) if lse else o


def wrong(q, k, v, causal, scale):
    return np.zeros_like(q)


def raises(q, k, v):
    raise ValueError("D must be 17, not %d" % q.shape[3])


def leaves(q, k, v):
    os._exit(3)


def sleeps(q, k, v):
    time.sleep(1000)


def refuses(q, k, v):
    raise NotImplementedError("on even days only")


def shape(q, k, v, scale, lse):
    return q[:, :, :8], None


def other_type(q, k, v, scale, lse):
    return q.astype(np.float64), None


def none(q, k, v, lse):
    return None, None


def no_lse(q, k, v, lse):
    return q


def writes(q, k, v, lse):
    k[...] = 0
    return q, None


def starts_threads(q, k, v, scale):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    return right(q, k, v, scale=scale)


earlier = []


def stale(q, k, v, scale):
    if not earlier or earlier[0].shape != q.shape:
        earlier[:] = [right(q, k, v, scale=scale)]
    return earlier[0]


def plain(q, k, v, scale):
    return right(q, k, v, scale=scale)


def of_torch(q, k, v, scale, is_causal=False):
    return right(q, k, v, is_causal, scale)


class Attention:
    @staticmethod
    def static(q, k, v, scale):
        return right(q, k, v, scale=scale)


def handles(q, k, v, **options):
    """Right, and changes what happens to two signals, as libraries do. Tells its process."""
    with open(os.environ["HANDLES_FILE"], "a") as file:
        print(os.getpid(), file=file)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return right(q, k, v, **options)
