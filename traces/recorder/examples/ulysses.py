# SPDX-License-Identifier: Apache-2.0
"""Attention of DeepSpeed-Ulysses, without mistakes. An all-to-all gives each rank all tokens of some heads, PyTorch
attends them, and another all-to-all returns the rows.

    torchrun --nproc-per-node 2 ulysses.py [FOLDER]
"""

import torch
import torch.distributed as dist

import ringscope
from hand_job import run
from hand_ring import Ring
from tiny_llama import whole_attention


def exchange(parts, group):
    """Sends parts[r] to rank r and returns the part that each rank sent."""
    arrived = [torch.empty_like(part) for part in parts]
    sent, received = torch.stack(parts), torch.stack(arrived)
    dist.all_to_all_single(received, sent, group=group)
    return list(received)


class ToHeads(torch.autograd.Function):
    """The exchange from [B, H, S / n, D] to [B, H / n, S, D]."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        parts = x.chunk(dist.get_world_size(group), dim=1)
        return torch.cat(exchange([part.contiguous() for part in parts], group), dim=2)

    @staticmethod
    def backward(ctx, grad):
        return ToSequence.apply(grad, ctx.group), None


class ToSequence(torch.autograd.Function):
    """The exchange from [B, H / n, S, D] to [B, H, S / n, D]."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        parts = x.chunk(dist.get_world_size(group), dim=2)
        return torch.cat(exchange([part.contiguous() for part in parts], group), dim=1)

    @staticmethod
    def backward(ctx, grad):
        return ToHeads.apply(grad, ctx.group), None


class Ulysses:
    tokens = staticmethod(Ring.tokens)

    def __init__(self, group):
        self.group = group

    def __call__(self, q, k, v):
        ringscope.attention(q, k, v, group=self.group, causal=True)
        heads = [ToHeads.apply(x, self.group) for x in (q, k, v)]
        out = ToSequence.apply(whole_attention(*heads), self.group)
        ringscope.attention(out=out)
        return out


if __name__ == "__main__":
    run(Ulysses)
