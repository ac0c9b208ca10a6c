# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: labels are shifted within each rank's own part of the tokens.

    torchrun --nproc-per-node 2 labels_shifted_per_shard.py [FOLDER]
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.tensor.experimental import context_parallel

import ringscope
from tiny_llama import VOCABULARY, begin, finish, folder, make_batch, sum_gradients

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def train(mesh, model, optimizer):
    losses = []
    for step in range(2):
        input_ids, _ = make_batch(step)
        position_ids = torch.arange(input_ids.shape[1])[None]
        targets = input_ids.numel() - 1
        with context_parallel(mesh, buffers=[input_ids, position_ids], buffer_seq_dims=[1, 1]):
            labels = F.pad(input_ids[:, 1:], (0, 1), value=-100)
            logits = model(input_ids, position_ids)
            loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1), reduction="sum")
            loss = loss / targets
            loss.backward()
        logged = loss.detach().clone()
        dist.all_reduce(logged, group=mesh.get_group())
        ringscope.log(loss=logged)
        losses.append(logged.item())
        sum_gradients(model, mesh.get_group())
        optimizer.step()
        optimizer.zero_grad()
    return losses


def main():
    mesh, model, optimizer = begin()
    with ringscope.record(folder(), model=model, steps=range(2), declare=MEANT):
        losses = train(mesh, model, optimizer)
    finish(model, losses)


if __name__ == "__main__":
    main()
