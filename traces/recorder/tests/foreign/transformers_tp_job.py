# SPDX-License-Identifier: Apache-2.0
"""Transformers' tensor parallelism (tp_plan="auto") around Llama, without context parallelism."""

import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "../../examples"))
import small  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from tiny_transformers import make_llama  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from transformers import LlamaForCausalLM  # noqa: E402

rank, ranks = small.begin()
mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))
place = [tempfile.mkdtemp() if rank == 0 else None]
dist.broadcast_object_list(place)
if rank == 0:
    make_llama().save_pretrained(place[0])
dist.barrier()
model = LlamaForCausalLM.from_pretrained(place[0], tp_plan="auto", device_mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(2):
    ids, _ = small.batch(step)
    loss = model(ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    small.report(loss, ranks)
