# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the newer interface cuts the batch, but position ids are not cut, so each rank counts its own
tokens from 0.

    torchrun --nproc-per-node 2 module_plan_no_position_ids.py [FOLDER]
"""

import torch.distributed as dist
import torch.nn.functional as F

import ringscope
from module_plan import MEANT, begin, cut
from tiny_llama import VOCABULARY, finish, folder, make_batch, sum_gradients


def train(mesh, model, optimizer):
    losses = []
    for step in range(2):
        input_ids, labels = make_batch(step)
        targets = (labels != -100).sum()
        input_ids, labels = cut(mesh, [input_ids, labels])
        logits = model(input_ids)
        loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.reshape(-1), reduction="sum") / targets
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
