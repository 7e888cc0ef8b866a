"""Python functions for --load, to copy from: PyTorch's flash attention and FlexAttention.

    attnbench --sweep kinds --load kernels/example/callables.py:flash --load kernels/example/callables.py:flex

A function takes q [B, Hq, Sq, D], k and v [B, Hkv, Skv, D], the mask and the scale, and returns the output. It is called
before it is timed, so that what it compiles costs no time that counts.
"""
import functools

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

# One compiled kernel per shape. Without fullgraph, PyTorch would go on uncompiled, and slowly, after a few shapes.
torch._dynamo.config.recompile_limit = 256
compiled_flex = torch.compile(flex_attention, dynamic=False, fullgraph=True)


def flash(q, k, v, causal, scale):
    """FlashAttention-2, as PyTorch brings it."""
    rows, keys = q.shape[2], k.shape[2]
    options = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
    if causal and rows != keys:
        options["attn_mask"] = causal_lower_right(rows, keys)
    elif causal:
        options["is_causal"] = True
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale, **options)


@functools.cache
def block_mask(rows, keys, left, right, device):
    """Which tiles a mask leaves: made once per shape, as a model would."""
    def sees(b, h, row, key):
        distance = key - (row + (keys - rows))
        return (distance >= (-left if left >= 0 else -keys)) & (distance <= (right if right >= 0 else keys))
    return create_block_mask(sees, None, None, rows, keys, device=device)


@functools.cache
def capped(softcap):
    """What FlexAttention does to each score: one function per cap, so that it is compiled once."""
    return lambda score, b, h, row, key: softcap * torch.tanh(score / softcap)


def flex(q, k, v, causal, scale, window=(-1, -1), softcap=0.0):
    """FlexAttention, compiled."""
    left, right = (-1, 0) if causal else window
    mask = block_mask(q.shape[2], k.shape[2], left, right, q.device) if (left, right) != (-1, -1) else None
    return compiled_flex(q, k, v, score_mod=capped(softcap) if softcap else None, block_mask=mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
