# SPDX-License-Identifier: Apache-2.0
"""flex_attention on CPU processes between the all-to-alls of Ulysses, for the jobs beside this file."""

import warnings

from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import ringscope
from ulysses import ToHeads, ToSequence, Ulysses


def allow_backward_on_cpu():
    """Lets flex_attention run backward on a CPU. Compiled, it has none there, so PyTorch rejects it since 2.11; in
    eager mode it has one."""
    flex._validate_device = lambda query, key, value: None
    warnings.filterwarnings("ignore", "flex_attention called without torch.compile")


def causal(batch, head, row, key):
    return row >= key


class FlexUlysses(Ulysses):
    """Ulysses attention in which each rank attends all tokens of some heads."""

    mask = staticmethod(causal)

    def __init__(self, group):
        super().__init__(group)
        allow_backward_on_cpu()

    def __call__(self, q, k, v):
        ringscope.attention(q, k, v, group=self.group, causal=True)
        q, k, v = (ToHeads.apply(x, self.group) for x in (q, k, v))
        blocks = create_block_mask(self.mask, None, None, q.shape[2], k.shape[2], device="cpu", BLOCK_SIZE=16)
        out = ToSequence.apply(flex_attention(q, k, v, block_mask=blocks), self.group)
        ringscope.attention(out=out)
        return out
