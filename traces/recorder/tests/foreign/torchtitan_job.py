# SPDX-License-Identifier: Apache-2.0
"""torchtitan's context parallelism: it cuts the batch and wraps the forward of its attention modules."""

import small
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torchtitan.distributed.context_parallel import apply_cp_to_forward, prepare_context_parallel_input
from torchtitan.models.common.attention import ScaledDotProductAttention

import ringscope

ringscope.cpu_context_parallel()
rank, ranks = small.begin()
mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("cp",))
attention = ScaledDotProductAttention(ScaledDotProductAttention.Config())
apply_cp_to_forward([attention], mesh)
model = small.Llama(attention)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(2):
    ids, labels = small.batch(step)
    more = {"positions": torch.arange(small.LENGTH)[None]}
    ids, labels, more = prepare_context_parallel_input(ids, labels, more, mesh, torch.device("cpu"))
    logits = model(ids, more["positions"][0])
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / (small.LENGTH - 1)
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
    small.report(loss)
