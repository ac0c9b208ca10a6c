# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's Ulysses: DistributedAttention around one process's causal attention."""

import small

rank, ranks = small.begin()

import deepspeed  # noqa: E402
import torch.distributed as dist  # noqa: E402
from deepspeed.sequence.layer import DistributedAttention  # noqa: E402

deepspeed.init_distributed("gloo")
attention = DistributedAttention(small.causal, dist.group.WORLD, scatter_idx=2, gather_idx=1)
small.train(lambda q, k, v: attention(q, k, v, batch_dim_idx=0), small.contiguous(rank, ranks))
