# SPDX-License-Identifier: Apache-2.0
"""A small Llama that trains over shards of its sequence. The drivers beside this file give it attention from other
packages."""

import math

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, HIDDEN, HEADS, LAYERS, LENGTH = 64, 32, 4, 2, 64


def rotate(x, positions):
    """Applies rotary embeddings to x [B, S, H, D] at positions [S]."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000.0 ** (-torch.arange(half) / half)
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class Layer(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.attend = attend
        self.norm1, self.norm2 = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False), nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.up, self.down = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False), nn.Linear(2 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x, positions):
        q, k, v = self.qkv(self.norm1(x)).view(*x.shape[:2], 3, HEADS, -1).unbind(2)
        attended = self.attend(rotate(q, positions), rotate(k, positions), v.contiguous())
        x = x + self.out(attended.reshape(x.shape))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class Llama(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Layer(attend) for _ in range(LAYERS))
        self.norm = nn.RMSNorm(HIDDEN)
        self.lm_head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, ids, positions):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, positions)
        return self.lm_head(self.norm(x))


def causal(q, k, v):
    """Computes causal attention of q, k, v [B, S, H, D] in one process."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def batch(step, sequence=0, length=LENGTH):
    """Returns ids and labels [1, S] of a whole sequence; the labels are shifted and the last token has no target."""
    ids = torch.randint(VOCABULARY, (1, length), generator=torch.Generator().manual_seed(31 * step + sequence))
    return ids, F.pad(ids[:, 1:], (0, 1), value=-100)


def begin():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    return dist.get_rank(), dist.get_world_size()


def contiguous(rank, ranks):
    return torch.arange(LENGTH).chunk(ranks)[rank]


def zigzag(rank, ranks):
    parts = torch.arange(LENGTH).chunk(2 * ranks)
    return torch.cat([parts[rank], parts[2 * ranks - 1 - rank]])


def striped(rank, ranks):
    return torch.arange(rank, LENGTH, ranks)


def train(attend, tokens, steps=2):
    """Trains with the shard `tokens` of each sequence. The loss is the mean over the targets of all ranks."""
    model = Llama(attend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(steps):
        ids, labels = (whole[:, tokens] for whole in batch(step))
        logits = model(ids, tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / (LENGTH - 1)
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        report(loss)
    dist.destroy_process_group()


def train_on(model, optimizer, batch, positions):
    """Trains one step on a rank's tokens, labels and mask of the loss. The loss is the mean over the targets of all
    ranks."""
    logits = model(batch["tokens"], positions)
    losses = F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), reduction="none")
    total = torch.stack([(losses * batch["loss_mask"].flatten()).sum(), batch["loss_mask"].sum()])
    count = total[1].clone()
    dist.all_reduce(count)
    loss = total[0] / count
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
    report(loss)


def report(loss, count=None):
    """Prints the sum of the ranks' losses, or their mean when it is given how many there are."""
    total = loss.detach().clone()
    dist.all_reduce(total)
    if not math.isfinite(total.item()):
        raise SystemExit("the loss is not finite")
    if dist.get_rank() == 0:
        print(f"loss {total.item() / (count or 1):.6f}", flush=True)
