# SPDX-License-Identifier: Apache-2.0
"""Right and wrong cases of job.py that gather what keys and values are made of, in functions without q, k and v."""

import torch
import torch.distributed as dist
import torch.nn.functional as F

from job import HEADS, Block, rotate
from right import Gather, Gathering


class LatentBlock(Block):
    def turned(self, latent, rotations):
        """Returns the keys of all ranks."""
        return Gather.apply(rotate(latent, rotations))

    def forward(self, x, rotations):
        asked, latent, content = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, -1)
        )
        turned, content = self.turned(latent, rotations), Gather.apply(content)
        rows = torch.arange(x.shape[1]) + x.shape[1] * dist.get_rank()
        earlier = torch.arange(content.shape[2]) <= rows[:, None]
        mixed = F.scaled_dot_product_attention(rotate(asked, rotations), turned, content, attn_mask=earlier)
        x = x + self.c_proj(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln_2(x))


class Latents(Gathering):
    block = LatentBlock


class LatentsRotatedByOwnTable(Latents):
    """The rank's own rotations are repeated for the keys of all ranks."""

    finding = "missing_position_ids"

    class block(LatentBlock):
        def turned(self, latent, rotations):
            whole = Gather.apply(latent)
            return rotate(whole, rotations.repeat(dist.get_world_size(), 1))


class LatentsOfOneRank(Latents):
    """The keys of the rank's own tokens stand for those of all ranks."""

    finding = "missing_position_ids"

    class block(LatentBlock):
        def turned(self, latent, rotations):
            return rotate(latent, rotations).repeat(1, 1, dist.get_world_size(), 1)
