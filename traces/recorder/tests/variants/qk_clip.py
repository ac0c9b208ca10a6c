# SPDX-License-Identifier: Apache-2.0
"""QK-clip without mistakes: queries and keys of a head become smaller when its largest score passes a limit. The score
is the largest of all ranks' tokens.

    torchrun --nproc-per-node 2 qk_clip.py [FOLDER]
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.tensor.experimental import context_parallel

import ringscope
from tiny_llama import HEADS, VOCABULARY, WIDTH, begin, finish, folder, make_batch, sum_gradients

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}
LIMIT = 0.2


def watch_scores(model):
    """Returns the largest product of a query and a key of each head, by layer; it grows in each forward."""
    largest = [torch.zeros(HEADS) for _ in model.layers]
    for layer, most in zip(model.layers, largest):

        def attention(q, k, v, inner=layer.attention, most=most):
            scores = q.detach().norm(dim=-1).amax((0, 2)) * k.detach().norm(dim=-1).amax((0, 2))
            most.copy_(torch.maximum(most, scores))
            return inner(q, k, v)

        layer.attention = attention
    return largest


def over_all_ranks(most, group):
    dist.all_reduce(most, op=dist.ReduceOp.MAX, group=group)


@torch.no_grad()
def clip(model, largest, group, reduce):
    for layer, most in zip(model.layers, largest):
        reduce(most, group)
        factors = (LIMIT / most).clamp(max=1).sqrt().repeat_interleave(WIDTH // HEADS)
        layer.qkv.weight[: 2 * WIDTH] *= factors.repeat(2)[:, None]
        most.zero_()


def train(mesh, model, optimizer, reduce):
    losses, largest = [], watch_scores(model)
    for step in range(2):
        input_ids, labels = make_batch(step)
        position_ids = torch.arange(input_ids.shape[1])[None]
        targets = (labels != -100).sum()
        with context_parallel(mesh, buffers=[input_ids, labels, position_ids], buffer_seq_dims=[1, 1, 1]):
            logits = model(input_ids, position_ids)
            loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1), reduction="sum") / targets
            loss.backward()
        logged = loss.detach().clone()
        dist.all_reduce(logged, group=mesh.get_group())
        ringscope.log(loss=logged)
        losses.append(logged.item())
        sum_gradients(model, mesh.get_group())
        optimizer.step()
        optimizer.zero_grad()
        clip(model, largest, mesh.get_group(), reduce)
    return losses


def main(reduce=over_all_ranks):
    mesh, model, optimizer = begin()
    with ringscope.record(folder(), model=model, steps=range(2), values="all", declare=MEANT):
        losses = train(mesh, model, optimizer, reduce)
    finish(model, losses)


if __name__ == "__main__":
    main()
