# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: each of Accelerate's processes loads its own sequence, as without context parallelism. The ranks of
a cp group therefore put parts of two sequences together.

    torchrun --nproc-per-node 8 accelerate_batch_per_rank.py [FOLDER]
"""

import torch
import torch.nn.functional as F

import ringscope
from tiny_accelerate import make_accelerator
from tiny_llama import finish, folder, make_batch
from tiny_transformers import make_qwen

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def train(accelerator, model, optimizer):
    losses = []
    groups = accelerator.num_processes // accelerator.torch_device_mesh["cp"].size()
    for step in range(2):
        input_ids, _ = make_batch(step + 100 * accelerator.process_index)
        shift_labels = F.pad(input_ids[:, 1:], (0, 1), value=-100)
        position_ids = torch.arange(input_ids.shape[1])[None]
        buffers = [input_ids, shift_labels, position_ids]
        targets = (shift_labels != -100).sum() * groups
        with accelerator.maybe_context_parallel(
            buffers=buffers, buffer_seq_dims=[1, 1, 1], no_restore_buffers=set(buffers)
        ):
            loss = model(
                input_ids,
                position_ids=position_ids,
                labels=shift_labels,
                shift_labels=shift_labels,
                num_items_in_batch=targets,
            ).loss
            accelerator.backward(loss * accelerator.num_processes)
        logged = accelerator.reduce(loss.detach().clone())
        ringscope.log(loss=logged)
        losses.append(logged.item())
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return losses


def main():
    accelerator = make_accelerator(replicate=2, shard=2)
    model = make_qwen()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    with ringscope.record(folder(), model=model, steps=range(2), declare=MEANT):
        losses = train(accelerator, model, optimizer)
    finish(model, losses)


if __name__ == "__main__":
    main()
