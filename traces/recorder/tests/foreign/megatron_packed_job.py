# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's parts of context parallelism for packed documents (THD): how it cuts a batch by documents, its rotary
embedding, and its mask of the loss. Each document has a head and a tail on each rank. Transformer Engine's parts need
a GPU: its table of rows is computed here, and gathered keys and values take the place of its attention.

An argument makes a mistake. `labels` cuts labels as those of one document, `mask` attends earlier documents, and
`rotary` rotates each rank's rows as if they began at 0."""

import sys
from types import SimpleNamespace

import megatron.core.utils as megatron
import small
import torch
import torch.distributed as dist
import torch.nn.functional as F
from megatron.core.models.common.embeddings.rope_utils import _apply_rotary_pos_emb_bshd, _apply_rotary_pos_emb_thd
from megatron.core.models.common.embeddings.rotary_pos_embedding import RotaryEmbedding
from torch.distributed.nn.functional import all_gather

BOUNDS = torch.tensor([0, 32, 48, 64], dtype=torch.int32)
mistake = sys.argv[1] if len(sys.argv) > 1 else ""
rank, ranks = small.begin()
group = dist.group.WORLD


def rows(bounds, _, ranks, rank):
    """Returns the rows of a rank: each document's head and tail, as Transformer Engine's function does."""
    parts = [torch.arange(*pair).chunk(2 * ranks) for pair in zip(bounds[:-1].tolist(), bounds[1:].tolist())]
    return torch.cat([torch.cat([part[rank], part[2 * ranks - 1 - rank]]) for part in parts])


megatron.tex = SimpleNamespace(thd_get_partitioned_indices=rows)
megatron.is_te_min_version = lambda *_: True
own = rows(BOUNDS, None, ranks, rank)
order = torch.cat([rows(BOUNDS, None, ranks, r) for r in range(ranks)]).argsort()
documents = torch.bucketize(torch.arange(small.LENGTH), BOUNDS[1:], right=True)
mask = own[:, None] >= torch.arange(small.LENGTH)
if mistake != "mask":
    mask &= documents[own][:, None] == documents
rotary = RotaryEmbedding(small.HIDDEN // small.HEADS, 1.0, use_cpu_initialization=True, cp_group=group)
angles = rotary.get_freqs_non_repeated(32).repeat(1, 2)[:, None, None]  # [S, 1, 1, D], of the longest document


def rotate(x, _):
    if mistake == "rotary":
        own_bounds = BOUNDS // ranks
        parts = [_apply_rotary_pos_emb_bshd(part[:, None], angles[: len(part)])[:, 0]
                 for part in x[0].split(own_bounds.diff().tolist())]
        return torch.cat(parts)[None]
    return _apply_rotary_pos_emb_thd(x[0], BOUNDS, angles, cp_group=group)[None]


def attend(q, k, v):
    k, v = (torch.cat(all_gather(x.contiguous()), 1)[:, order] for x in (k, v))
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2)


small.rotate = rotate
model = small.Llama(attend)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    tokens, labels = small.batch(step)
    labels[:, BOUNDS[1:].long() - 1] = -100
    batch = {"tokens": tokens, "labels": labels, "loss_mask": (labels >= 0).float(),
             "position_ids": torch.cat([torch.arange(n) for n in BOUNDS.diff().tolist()])[None]}
    batch, _ = megatron.get_thd_batch_on_this_cp_rank(batch, BOUNDS, BOUNDS, BOUNDS.diff().max()[None], ranks, rank)
    if mistake == "labels":
        batch["labels"] = labels[:, small.zigzag(rank, ranks)]
        batch["loss_mask"] = (batch["labels"] >= 0).float()
    small.train_on(model, optimizer, batch, batch["position_ids"][0])
