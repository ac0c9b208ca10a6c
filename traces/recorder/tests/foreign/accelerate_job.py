# SPDX-License-Identifier: Apache-2.0
"""Accelerate's context parallelism around Transformers' Qwen3."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "../../examples"))
import small  # noqa: E402
import torch  # noqa: E402
from tiny_accelerate import make_accelerator  # noqa: E402
from tiny_transformers import make_qwen  # noqa: E402

accelerator = make_accelerator()
torch.manual_seed(0)
model = make_qwen()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, optimizer = accelerator.prepare(model, optimizer)
for step in range(2):
    ids, labels = small.batch(step)
    positions = torch.arange(small.LENGTH)[None]
    buffers = [ids, labels, positions]
    with accelerator.maybe_context_parallel(
        buffers=buffers, buffer_seq_dims=[1, 1, 1], no_restore_buffers=set(buffers)
    ):
        loss = model(
            ids, position_ids=positions, labels=labels, shift_labels=labels, num_items_in_batch=small.LENGTH - 1
        ).loss
        accelerator.backward(loss * accelerator.num_processes)
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    small.report(loss)
