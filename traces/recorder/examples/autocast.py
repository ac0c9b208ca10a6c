# SPDX-License-Identifier: Apache-2.0
"""Context parallelism without mistakes in bfloat16 autocast. Logits are cast to float32 before the loss.

    torchrun --nproc-per-node 2 autocast.py [FOLDER]
"""

import torch
import torch.nn.functional as F
from torch.distributed.tensor.experimental import context_parallel

import ringscope
from right import MEANT
from tiny_llama import VOCABULARY, begin, finish, folder, make_batch, sum_gradients


def train(mesh, model, optimizer):
    for step in range(2):
        input_ids, labels = make_batch(step)
        position_ids = torch.arange(input_ids.shape[1])[None]
        targets = (labels != -100).sum()
        with context_parallel(mesh, buffers=[input_ids, labels, position_ids], buffer_seq_dims=[1, 1, 1]):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(input_ids, position_ids)
            loss = F.cross_entropy(logits.float().view(-1, VOCABULARY), labels.view(-1), reduction="sum")
            (loss / targets).backward()
        sum_gradients(model, mesh.get_group())
        optimizer.step()
        optimizer.zero_grad()


def main():
    mesh, model, optimizer = begin()
    with ringscope.record(folder(), model=model, steps=range(2), values="all", declare=MEANT):
        train(mesh, model, optimizer)
    finish(model, [])


if __name__ == "__main__":
    main()
