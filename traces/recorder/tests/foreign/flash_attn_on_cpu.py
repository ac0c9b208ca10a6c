# SPDX-License-Identifier: Apache-2.0
"""Installs a package `flash_attn` whose kernels are plain PyTorch, for packages that import its kernels by name. They
compute in float32, as flash_attn does."""

import sys
import types

import torch


def _scores(q, k, scale, causal):
    """Returns the scores [B, H, Sq, Sk] of q, k [B, S, H, D]; causal masks end at the last key."""
    scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float()) * scale
    rows, columns = scores.shape[-2:]
    later = torch.ones(rows, columns, dtype=torch.bool).triu(columns - rows + 1)
    return scores.masked_fill(later, float("-inf")) if causal else scores


def _flash_attn_forward(
    q, k, v, dropout_p, softmax_scale, causal, window_size_left=-1, window_size_right=-1,
    softcap=0.0, alibi_slopes=None, return_softmax=False,
):  # fmt: skip
    scores = _scores(q, k, softmax_scale, causal)
    out = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v.float())
    return out.to(q.dtype), scores.logsumexp(-1), None, None


def _flash_attn_backward(
    dout, q, k, v, out, softmax_lse, dq, dk, dv, dropout_p, softmax_scale, causal,
    window_size_left=-1, window_size_right=-1, softcap=0.0, alibi_slopes=None, deterministic=False, rng_state=None,
):  # fmt: skip
    q, k, v, dout, out = (x.float() for x in (q, k, v, dout, out))
    weights = (_scores(q, k, softmax_scale, causal) - softmax_lse[..., None]).exp()
    change = torch.einsum("bqhd,bkhd->bhqk", dout, v) - (dout * out).sum(-1).transpose(1, 2)[..., None]
    by_score = weights * change * softmax_scale
    dq.copy_(torch.einsum("bhqk,bkhd->bqhd", by_score, k))
    dk.copy_(torch.einsum("bhqk,bqhd->bkhd", by_score, q))
    dv.copy_(torch.einsum("bhqk,bqhd->bkhd", weights, dout))


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, **_others):
    """Computes attention of q, k, v [B, S, H, D]."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, k, v, is_causal=causal, scale=softmax_scale).transpose(1, 2)


def _not_here(*_arguments, **_named):
    raise NotImplementedError("this kernel of flash_attn has no counterpart in plain PyTorch here")


def install():
    package, interface = types.ModuleType("flash_attn"), types.ModuleType("flash_attn.flash_attn_interface")
    package.__path__, package.__version__ = [], "2.8.0"
    interface._flash_attn_forward, interface._flash_attn_backward = _flash_attn_forward, _flash_attn_backward
    package.flash_attn_func = interface.flash_attn_func = flash_attn_func
    for name in ("_flash_attn_varlen_forward", "_flash_attn_varlen_backward"):
        setattr(interface, name, _not_here)
    package.flash_attn_interface = interface
    sys.modules.update({"flash_attn": package, "flash_attn.flash_attn_interface": interface})
