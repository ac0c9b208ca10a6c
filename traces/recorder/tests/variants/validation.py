# SPDX-License-Identifier: Apache-2.0
"""A validation between two training steps, without mistakes: losses and targets are summed over the ranks.

    torchrun --nproc-per-node 2 validation.py [FOLDER]
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.tensor.experimental import context_parallel

import ringscope
from tiny_llama import VOCABULARY, begin, finish, folder, make_batch, sum_gradients

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def loss_of(mesh, model, step):
    """Returns the sum of this rank's losses, within the context, and the numbers of its and of all targets."""
    input_ids, labels = make_batch(step, ignored=20)
    position_ids = torch.arange(input_ids.shape[1])[None]
    whole = (labels != -100).sum()
    with context_parallel(mesh, buffers=[input_ids, labels, position_ids], buffer_seq_dims=[1, 1, 1]):
        logits = model(input_ids, position_ids)
        loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1), reduction="sum")
        if torch.is_grad_enabled():
            (loss / whole).backward()
        own = (labels != -100).sum()
    return loss.detach(), own, whole


def mean(loss, own, whole, group):
    total = torch.stack([loss, own.to(loss.dtype)])
    dist.all_reduce(total, group=group)
    return total[0] / total[1]


def train(mesh, model, optimizer, validation_mean):
    losses, group = [], mesh.get_group()
    for step in range(2):
        logged = mean(*loss_of(mesh, model, step), group)
        ringscope.log(loss=logged)
        losses.append(logged.item())
        sum_gradients(model, group)
        optimizer.step()
        optimizer.zero_grad()
        if step == 0:
            with torch.no_grad():
                ringscope.log(validation_loss=validation_mean(*loss_of(mesh, model, 100), group))
    return losses


def main(validation_mean=mean):
    mesh, model, optimizer = begin()
    with ringscope.record(folder(), model=model, steps=range(2), declare=MEANT):
        losses = train(mesh, model, optimizer, validation_mean)
    finish(model, losses)


if __name__ == "__main__":
    main()
