# SPDX-License-Identifier: Apache-2.0
"""A job under context_parallel whose layers and loss torch.compile compiles, each as one graph: compiled_job.py FOLDER.
It records nothing if FOLDER is -."""

import contextlib
import sys

import ringscope
import torch
import torch.distributed as dist
import torch.nn.functional as F
from tiny_llama import VOCABULARY, begin, finish, folder, make_batch, sum_gradients
from torch.distributed.tensor.experimental import context_parallel

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


@torch.compile(fullgraph=True)
def sum_of_losses(logits, labels):
    return F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1), reduction="sum")


def train(mesh, model, optimizer):
    losses = []
    for step in range(2):
        input_ids, labels = make_batch(step)
        position_ids = torch.arange(input_ids.shape[1])[None]
        targets = (labels != -100).sum()
        with context_parallel(mesh, buffers=[input_ids, labels, position_ids], buffer_seq_dims=[1, 1, 1]):
            logits = model(input_ids, position_ids)
            loss = sum_of_losses(logits, labels) / targets
            loss.backward()
        logged = loss.detach().clone()
        dist.all_reduce(logged, group=mesh.get_group())
        losses.append(logged.item())
        sum_gradients(model, mesh.get_group())
        optimizer.step()
        optimizer.zero_grad()
    return losses


def main():
    mesh, model, optimizer = begin()
    for layer in model.layers:
        layer.compile(fullgraph=True)
    recording = contextlib.nullcontext()
    if sys.argv[1] != "-":
        recording = ringscope.record(folder(), model=model, steps=range(2), declare=MEANT)
    with recording:
        losses = train(mesh, model, optimizer)
    finish(model, [*losses, torch._dynamo.utils.counters["stats"]["unique_graphs"]])


if __name__ == "__main__":
    main()
