# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: Qwen3 gets no position ids, so it counts each rank's tokens from 0.

    torchrun --nproc-per-node 2 qwen_no_position_ids.py [FOLDER]
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.tensor.experimental import context_parallel

import ringscope
from tiny_llama import VOCABULARY, finish, folder, make_batch, sum_gradients
from tiny_transformers import begin, make_qwen

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def train(mesh, model, optimizer):
    losses = []
    for step in range(2):
        input_ids, labels = make_batch(step)
        targets = (labels != -100).sum()
        with context_parallel(mesh, buffers=[input_ids, labels], buffer_seq_dims=[1, 1]):
            logits = model(input_ids, attention_mask=torch.ones_like(input_ids)).logits
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
    mesh, model, optimizer = begin(make_qwen())
    with ringscope.record(folder(), model=model, steps=range(2), declare=MEANT):
        losses = train(mesh, model, optimizer)
    finish(model, losses)


if __name__ == "__main__":
    main()
