# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's parts of context parallelism that need no GPU: how it cuts a batch, its rotary embedding, and how it
cuts the angles of that. Its attention over shards is Transformer Engine's, so gathered keys and values take its
place. Angles are cut through a pinned index on a GPU there, which is an index on the CPU here."""

import megatron.core.models.common.embeddings.rope_utils as rope
import small
import torch
import torch.distributed as dist
import torch.nn.functional as F
from megatron.core.models.common.embeddings.rotary_pos_embedding import RotaryEmbedding
from megatron.core.utils import get_batch_on_this_cp_rank
from torch.distributed.nn.functional import all_gather



class OnCpu:
    """PyTorch without pinned memory."""

    def __getattr__(self, name):
        return getattr(torch, name)

    @staticmethod
    def tensor(data, device=None, pin_memory=False):
        return torch.tensor(data, device=device)


rope.torch = OnCpu()
torch.Tensor.cuda = lambda tensor, **_: tensor
rank, ranks = small.begin()
group = dist.group.WORLD
rotary = RotaryEmbedding(small.HIDDEN // small.HEADS, 1.0, use_cpu_initialization=True, cp_group=group)
angles = rotary.get_freqs_non_repeated(small.LENGTH).repeat(1, 2)[:, None, None]  # [S, 1, 1, D]
own_angles = rope.get_pos_emb_on_this_cp_rank(angles, 0, group)
small.rotate = lambda x, _: rope._apply_rotary_pos_emb_bshd(x.transpose(0, 1), own_angles).transpose(0, 1)


def whole(x):
    """Returns the rows of all ranks in the order of the sequence: each rank has a head and a tail."""
    parts = [part.chunk(2, 1) for part in all_gather(x.contiguous())]
    return torch.cat([part[0] for part in parts] + [part[1] for part in reversed(parts)], 1)


def attend(q, k, v):
    mask = positions[:, None] >= torch.arange(small.LENGTH)
    q, k, v = (x.transpose(1, 2) for x in (q, whole(k), whole(v)))
    return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2)


model = small.Llama(attend)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    tokens, labels = small.batch(step)
    batch = {"tokens": tokens, "labels": labels, "loss_mask": (labels >= 0).float(), "attention_mask": None,
             "position_ids": torch.arange(small.LENGTH)[None]}
    batch = get_batch_on_this_cp_rank(batch, group)
    positions = batch["position_ids"][0]
    small.train_on(model, optimizer, batch, positions)
