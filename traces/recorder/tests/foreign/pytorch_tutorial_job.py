# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tutorial of context_parallel: attention alone, outside of a model, forward and backward."""

import small
import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import context_parallel_unshard

import ringscope

ringscope.cpu_context_parallel()
rank, ranks = small.begin()
mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("cp",))
q, k, v = (torch.rand(2, 4, small.LENGTH, 16, requires_grad=True) for _ in range(3))
whole = F.scaled_dot_product_attention(q, k, v, is_causal=True)
own = [x.detach().clone() for x in (q, k, v)]
with context_parallel(mesh, buffers=own, buffer_seq_dims=(2, 2, 2), no_restore_buffers=set(own)):
    for x in own:
        x.requires_grad_()
    out = F.scaled_dot_product_attention(*own, is_causal=True)
    out.sum().backward()
(gathered,) = context_parallel_unshard(mesh, [out], [2])
assert torch.allclose(whole, gathered, atol=1e-5)
