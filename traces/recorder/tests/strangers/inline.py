# SPDX-License-Identifier: Apache-2.0
"""Right and wrong cases of job.py whose attention has no function of its own. A layer computes q, k and v, gathers keys
and values, and attends."""

import torch
import torch.distributed as dist

from job import GPT, HEADS, Block, angles, rotate
from right import Gather, Gathering


def attended(q, k, v):
    rows = torch.arange(q.shape[2]) + q.shape[2] * dist.get_rank()
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return scores.masked_fill(torch.arange(k.shape[2]) > rows[:, None], -torch.inf).softmax(-1) @ v


class InlineBlock(Block):
    def gather(self, x):
        return Gather.apply(x)

    def heads(self, x):
        return (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, -1))

    def joined(self, x, out):
        x = x + self.c_proj(out.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln_2(x))

    def forward(self, x, rotations):
        q, k, v = self.heads(x)
        q, k = rotate(q, rotations), rotate(k, rotations)
        k, v = self.gather(k), self.gather(v)
        rows = torch.arange(q.shape[2]) + q.shape[2] * dist.get_rank()
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        out = scores.masked_fill(torch.arange(k.shape[2]) > rows[:, None], -torch.inf).softmax(-1) @ v
        return self.joined(x, out)


class Inline(Gathering):
    block = InlineBlock


class RotatedAfterTheGather(Gathering):
    """Keys are rotated once they are gathered, by the positions of all ranks."""

    class block(InlineBlock):
        def forward(self, x, rotations):
            q, k, v = self.heads(x)
            k, v = self.gather(k), self.gather(v)
            q, k = rotate(q, rotations), rotate(k, angles(torch.arange(k.shape[2])))
            out = attended(q, k, v)
            return self.joined(x, out)


class PackedTokens(Gathering):
    """Attention is given the tokens of one packed sequence, [S, H, D]."""

    class block(InlineBlock):
        def attend(self, q, k, v):
            packed = [x[0].transpose(0, 1) for x in (q, k, v)]
            return self.packed_attention(*packed).transpose(0, 1)[None]

        def packed_attention(self, q, k, v):
            k, v = (self.gather(x.transpose(0, 1)[None])[0] for x in (k, v))
            return attended(q.transpose(0, 1)[None], k[None], v[None])[0].transpose(0, 1)

        def forward(self, x, rotations):
            q, k, v = self.heads(x)
            return self.joined(x, self.attend(rotate(q, rotations), rotate(k, rotations), v))


class LayersInALoop(Gathering):
    """One function computes all layers."""

    block = InlineBlock

    class model_class(GPT):
        def hidden(self, idx, rotations):
            x = self.wte(idx)
            for block in self.h:
                q, k, v = block.heads(x)
                q, k = rotate(q, rotations), rotate(k, rotations)
                keys, values = block.gather(k), block.gather(v)
                out = attended(q, keys, values)
                x = block.joined(x, out)
            return self.ln_f(x)

    def make_model(self):
        model = super().make_model()
        model.__class__ = self.model_class
        return model


class GatheredWithoutGradients(Inline):
    """Gradients of keys and values stay with the rank that attended them."""

    finding = "dkv_not_returned"

    class block(InlineBlock):
        def gather(self, x):
            parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, x.detach().contiguous())
            parts[dist.get_rank()] = x
            return torch.cat(parts, 2)


class InlinePositionsRestart(Inline):
    """Rotations count the tokens of each rank from 0."""

    finding = ("missing_position_ids", "missing_rope_buffer")

    def logits(self, buffers):
        return self.model(buffers["ids"], angles(torch.arange(buffers["ids"].shape[1])))
