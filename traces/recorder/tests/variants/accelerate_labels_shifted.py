# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: Accelerate's context parallelism gets unshifted labels, so the model shifts each rank's part by
itself. The targets at the ends of the parts are lost or belong to another place.

    torchrun --nproc-per-node 2 accelerate_labels_shifted.py [FOLDER]
"""

import torch

import ringscope
from tiny_accelerate import make_accelerator
from tiny_llama import finish, folder, make_batch
from tiny_transformers import make_qwen

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def train(accelerator, model, optimizer):
    losses = []
    for step in range(2):
        input_ids, _ = make_batch(step)
        labels = input_ids.clone()
        position_ids = torch.arange(input_ids.shape[1])[None]
        buffers = [input_ids, labels, position_ids]
        targets = labels.numel() - 1
        with accelerator.maybe_context_parallel(
            buffers=buffers, buffer_seq_dims=[1, 1, 1], no_restore_buffers=set(buffers)
        ):
            loss = model(
                input_ids, position_ids=position_ids, labels=labels, num_items_in_batch=targets
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
    accelerator = make_accelerator()
    model = make_qwen()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    with ringscope.record(folder(), model=model, steps=range(2), declare=MEANT):
        losses = train(accelerator, model, optimizer)
    finish(model, losses)


if __name__ == "__main__":
    main()
