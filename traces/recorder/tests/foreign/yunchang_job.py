# SPDX-License-Identifier: Apache-2.0
"""long-context-attention: yunchang_job.py ulysses|ring|hybrid. Its kernels in plain PyTorch have no backward pass, so it
gets those of flash_attn_on_cpu.py."""

import sys

import flash_attn_on_cpu
import small

flash_attn_on_cpu.install()
rank, ranks = small.begin()

import torch.distributed as dist  # noqa: E402
from yunchang import LongContextAttention, UlyssesAttention, set_seq_parallel_pg  # noqa: E402

if sys.argv[1] == "ulysses":
    attention = UlyssesAttention(dist.group.WORLD)
else:
    ulysses = 2 if sys.argv[1] == "hybrid" else 1
    set_seq_parallel_pg(ulysses, ranks // ulysses, rank, ranks)
    attention = LongContextAttention(ring_impl_type="basic")
small.train(lambda *qkv: attention(*(x.bfloat16() for x in qkv), causal=True).float(), small.contiguous(rank, ranks))
