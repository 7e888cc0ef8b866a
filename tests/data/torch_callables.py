"""PyTorch functions for tests/gpu/python.bats: right ones, ones that cannot be captured, and wrong ones."""
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa


def eager(q, k, v, causal, scale):
    return sdpa(q, k, v, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])


def several(q, k, v, scale, lse=False):
    """Matrix products and a softmax, each a kernel of its own."""
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    score = (q.float() @ k.float().transpose(-1, -2)) * scale
    o = (torch.softmax(score, -1).to(q.dtype) @ v)
    return (o, torch.logsumexp(score, -1)) if lse else o


compiled = torch.compile(several, dynamic=False)


def waits(q, k, v, causal, scale):
    """Cannot be captured: the host waits for a number."""
    if float(q[0, 0, 0, 0]) > 1e30:
        return q
    return eager(q, k, v, causal, scale)


side = []


def other_stream(q, k, v, causal, scale):
    side[:] = side or [torch.cuda.Stream()]
    with torch.cuda.stream(side[0]):
        return eager(q, k, v, causal, scale)


def zeros(q, k, v, causal, scale):
    return torch.zeros_like(q)


first = {}


def once(q, k, v, causal, scale):
    """Computes at its first call alone."""
    key = (tuple(q.shape), tuple(k.shape), q.dtype, causal)
    if key not in first:
        first[key] = eager(q, k, v, causal, scale)
    return first[key]


def raises(q, k, v, causal, scale):
    raise ValueError("no such head")


def bad_address(q, k, v, causal, scale):
    """Breaks the device: an index beyond its table."""
    table = torch.zeros(4, device=q.device)
    return table[torch.full((1,), 1 << 40, device=q.device)] + q
