# SPDX-License-Identifier: Apache-2.0
"""Attention in float64, how far rounding takes a right one, and the mistakes of one block that can be named.

The limits follow the operations of one block, in the type of the arithmetic. _merge_limits.py names the sources. A
score is a sum of D products. The weights are rounded once to the type of v before they meet it, as in flash kernels.
A sum over n keys has the relative error γ_n.
"""

import math
from dataclasses import dataclass

import torch

from ._merge_limits import stored

_LN2 = math.log(2.0)
_EXP_UNITS = 6  # units of roundoff that one exponential, its argument and a division lose beside its argument


@dataclass
class Attention:
    """Attention in float64: out [S, H, D] and natural lse [S, H], with the limits of their arithmetic."""

    out: torch.Tensor
    lse: torch.Tensor
    out_arithmetic: torch.Tensor
    lse_arithmetic: torch.Tensor


def attention(q, k, v, pairs, scale, unit, weight_unit):
    """Returns the Attention of q [S, H, D] to k, v [T, K, D]; heads share kv heads in groups. pairs: [S, T]."""
    q, k, v = (tensor.double() for tensor in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (tensor.repeat_interleave(group, 1) for tensor in (k, v))
    hidden = ~pairs.unsqueeze(1)
    scores = (torch.einsum("shd,thd->sht", q, k) * scale).masked_fill(hidden, -torch.inf)
    sizes = (torch.einsum("shd,thd->sht", q.abs(), k.abs()) * abs(scale)).masked_fill(hidden, 0.0)
    lse = torch.logsumexp(scores, -1)
    weights = torch.exp(scores - torch.where(torch.isinf(lse), torch.zeros_like(lse), lse).unsqueeze(-1))
    out = torch.einsum("sht,thd->shd", weights, v)
    size = torch.einsum("sht,thd->shd", weights, v.abs())
    depth, keys = q.shape[-1], max(k.shape[0], 1)
    finite = torch.where(hidden, torch.zeros_like(scores), scores).abs().amax(-1)
    score = (depth + 3) * unit * sizes.amax(-1) + unit * (_EXP_UNITS + 5 * finite)  # 5: fast exponential, base 2, shift
    relative = torch.expm1(2 * score) + 2 * keys * unit
    return Attention(out, lse, (relative + weight_unit).unsqueeze(-1) * size, relative + unit * (finite + keys + 4))


def block_mistakes(q, k, v, pairs, scale):
    """Yields (words, out, natural lse) of an attention that makes a known mistake with one block."""
    local = torch.ones_like(pairs).tril()
    for said, mask, factor in (
        ("the mask was ignored: every key of the block was attended", torch.ones_like(pairs), 1.0),
        ("the causal mask was applied by positions within the block", local, 1.0),
        ("the mask was inverted: True means attended", ~pairs, 1.0),
        ("the scores were not scaled by 1/√D", pairs, math.sqrt(q.shape[-1])),
        ("the scores were scaled by 1/√D twice", pairs, 1 / math.sqrt(q.shape[-1])),
    ):
        wrong = attention(q, k, v, mask, scale * factor, 0.0, 0.0)
        yield said, wrong.out, wrong.lse


def worst(got, predicted, arithmetic, roundoff):
    """Returns the largest |got − predicted| / limit and its index. Rows without keys (−inf) need −inf or +inf."""
    limit = stored(predicted, arithmetic, roundoff)
    ratio = (got.double() - predicted).abs() / torch.where(torch.isinf(limit), torch.ones_like(limit), limit)
    ratio = torch.where(torch.isinf(predicted) & torch.isinf(got), torch.zeros_like(ratio), ratio)
    ratio = torch.where(torch.isnan(ratio), torch.full_like(ratio, torch.inf), ratio)
    if not ratio.numel():
        return 0.0, None
    return float(ratio.amax()), tuple(int(i) for i in torch.unravel_index(ratio.argmax(), ratio.shape))
