# SPDX-License-Identifier: Apache-2.0
"""PyTorch's plan for modules with flex_attention, which PyTorch has since 2.10. Each rank gathers all keys and values,
and PyTorch converts the mask into one that knows the rank's rows."""

import torch
from torch import nn
from torch.distributed.tensor.experimental._context_parallel import _attention as plans
from torch.distributed.tensor.experimental._context_parallel import _load_balancer as balancers
from torch.distributed.tensor.parallel import parallelize_module
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attention import allow_flex_on_cpu


class Inner(nn.Module):
    def __init__(self, scale, blocks):
        super().__init__()
        self.scale, self.blocks = scale, blocks

    def forward(self, query, key, value):
        return flex_attention(query, key, value, block_mask=self.blocks, scale=self.scale)


class FlexPlan(nn.Module):
    def __init__(self, mesh, mask, length, repeats, scale):
        super().__init__()
        allow_flex_on_cpu()
        plans._compiled_create_block_mask = create_block_mask  # compiling it takes half a minute on a CPU
        self.repeats = repeats
        whole = torch.arange(length)
        seen = mask(whole, whole)
        blocks = plans._create_cp_block_mask(lambda b, h, i, j: seen[i, j], 1, 1, length, length, mesh)
        self.inner = Inner(scale, blocks)
        kind = plans._ContextParallel
        parallelize_module(self.inner, mesh, kind(seq_dim=2, attention_type=kind.AttentionType.FLEX))

    def forward(self, q, k, v):
        k, v = (x.repeat_interleave(self.repeats, 1) if self.repeats > 1 else x for x in (k, v))
        return self.inner(q, k, v)


def cut(mesh, buffers, length, balanced):
    """Returns this rank's parts of buffers [batch, length]."""
    balancer = balancers._HeadTailLoadBalancer(length, mesh.size(), "cpu") if balanced else None
    return plans._context_parallel_shard(mesh, buffers, [1] * len(buffers), balancer)
