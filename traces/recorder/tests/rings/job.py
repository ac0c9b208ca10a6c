# SPDX-License-Identifier: Apache-2.0
"""Trains a small model whose attention over shards is written by hand, as strangers write it: nothing declares,
annotates or logs anything. Each case is recorded by itself.

    torchrun --nproc-per-node 4 job.py FOLDER CASE ...   # a case is a class in right.py or wrong.py, or CASE:bfloat16
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import ringscope

VOCABULARY, WIDTH, HEADS, KV_HEADS, HEAD, LAYERS, LENGTH = 64, 32, 4, 2, 8, 2, 64


def rotate(x, positions):
    """Rotates x [B, H, S, D] by positions [S]."""
    angles = positions[:, None] * 10000 ** (-torch.arange(0, HEAD, 2) / HEAD)
    cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
    half = HEAD // 2
    return (x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin).type_as(x)


class Layer(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention = attention
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q_proj = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.k_proj = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.v_proj = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))

    def forward(self, x, positions):
        h = self.norm1(x)
        q, k, v = (
            p(h).unflatten(-1, (-1, HEAD)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        # Larger scores than those of new weights, so that attention is not a mean of all values.
        q, k = 2 * rotate(q, positions), rotate(k, positions)
        out = self.attention(q, k, v)
        x = x + self.o_proj(out.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer(attention) for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids, positions):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, positions)
        return self.lm_head(self.norm(x))


def train(attention, dtype):
    """Makes one training step. The gradients of all ranks are summed."""
    torch.manual_seed(0)
    model = Model(attention).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    sequence = torch.randint(VOCABULARY, (2, LENGTH + 1), generator=torch.Generator().manual_seed(7))
    tokens = attention.tokens(dist.get_rank(), dist.get_world_size(), LENGTH)
    ids, labels = sequence[:, tokens], sequence[:, tokens + 1]
    logits = model(ids, tokens)
    loss = F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), reduction="sum") / (2 * LENGTH)
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()


def main(folder, cases):
    import right
    import wrong

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for case in cases:
        name, _, dtype = case.partition(":")
        attention = getattr(wrong if hasattr(wrong, name) else right, name)
        with ringscope.record(os.path.join(folder, case.replace(":", "_"))):
            train(attention(dist.group.WORLD), getattr(torch, dtype or "float32"))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
