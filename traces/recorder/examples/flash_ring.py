# SPDX-License-Identifier: Apache-2.0
"""A ring like ring-flash-attention's, without mistakes. The next k and v are in flight while a block is attended.
Tensors are [B, S, H, D], and PyTorch's flash operator attends the blocks.

    torchrun --nproc-per-node 4 flash_ring.py [FOLDER]
"""

import math

import torch
import torch.distributed as dist
import torch.nn.functional as F

import ringscope
from hand_job import run
from hand_ring import Ring


class RingComm:
    def __init__(self, group):
        self.group = group
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        self.following = dist.get_global_rank(group, (rank + 1) % size)
        self.previous = dist.get_global_rank(group, (rank - 1) % size)
        self.operations, self.requests = [], []

    def send_recv(self, tensor):
        arrives = torch.empty_like(tensor)
        self.operations += [
            dist.P2POp(dist.isend, tensor, self.following, self.group),
            dist.P2POp(dist.irecv, arrives, self.previous, self.group),
        ]
        return arrives

    def commit(self):
        self.requests = dist.batch_isend_irecv(self.operations)
        self.operations = []

    def wait(self):
        for request in self.requests:
            request.wait()


def attend(q, k, v, causal):
    """Returns out, [B, S, H, D], and lse, [B, H, S]."""
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), 0.0, causal
    )
    return out.transpose(1, 2), lse


def update(out, lse, block_out, block_lse):
    """Merges a block's result. The shape of lse is [B, S, H, 1]."""
    block_lse = block_lse.transpose(1, 2).unsqueeze(-1)
    if out is None:
        return block_out, block_lse
    out = out - torch.sigmoid(block_lse - lse) * (out - block_out)
    return out, lse - F.logsigmoid(lse - block_lse)


def forward(group, q, k, v):
    ringscope.attention(q, k, v, group=group, causal=True, layout="bshd")
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    comm, out, lse = RingComm(group), None, None
    for step in range(size):
        if step + 1 != size:
            next_k, next_v = comm.send_recv(k), comm.send_recv(v)
            comm.commit()
        if step <= rank:
            block_out, block_lse = attend(q, k, v, causal=step == 0)
            out, lse = update(out, lse, block_out, block_lse)
            ringscope.block(
                step, rank - step, k, v, out=block_out, lse=block_lse, running_lse=lse,
                causal=step == 0,
            )  # fmt: skip
        if step + 1 != size:
            comm.wait()
            k, v = next_k, next_v
    ringscope.attention(out=out, lse=lse)
    return out, lse


def block_gradients(q, k, v, out, lse, dout, causal):
    scale = 1 / math.sqrt(q.shape[-1])
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    p = (scores - lse.transpose(1, 2)).exp()
    p = p.tril() if causal else p
    delta = (dout * out).sum(-1).transpose(1, 2).unsqueeze(-1)
    ds = p * (torch.einsum("bqhd,bkhd->bhqk", dout, v) - delta) * scale
    return (
        torch.einsum("bhqk,bkhd->bqhd", ds, k),
        torch.einsum("bhqk,bqhd->bkhd", ds, q),
        torch.einsum("bhqk,bqhd->bkhd", p, dout),
    )


def backward(group, q, k, v, out, lse, dout):
    ringscope.attention(q, k, v, dout=dout, out=out, lse=lse, group=group, layout="bshd")
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    kv_comm, dkv_comm = RingComm(group), RingComm(group)
    dq = torch.zeros_like(q)
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    for step in range(size):
        if step + 1 != size:
            next_k, next_v = kv_comm.send_recv(k), kv_comm.send_recv(v)
            kv_comm.commit()
        parts = None
        if step <= rank:
            parts = block_gradients(q, k, v, out, lse, dout, causal=step == 0)
            dq = dq + parts[0]
            ringscope.block(step, rank - step, k, v, causal=step == 0)
        if step > 0:
            dkv_comm.wait()
            dk, dv = next_dk, next_dv
        if parts:
            dk, dv = dk + parts[1], dv + parts[2]
        if step + 1 != size:
            kv_comm.wait()
            k, v = next_k, next_v
        next_dk, next_dv = dkv_comm.send_recv(dk), dkv_comm.send_recv(dv)
        dkv_comm.commit()
    dkv_comm.wait()
    ringscope.attention(dq=dq, dk=next_dk, dv=next_dv)
    return dq, next_dk, next_dv


class RingFlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, group, q, k, v):
        out, lse = forward(group, q.contiguous(), k.contiguous(), v.contiguous())
        ctx.group = group
        ctx.save_for_backward(q.contiguous(), k.contiguous(), v.contiguous(), out, lse)
        return out

    @staticmethod
    def backward(ctx, dout):
        return (None, *backward(ctx.group, *ctx.saved_tensors, dout.contiguous()))


class FlashRing:
    tokens = staticmethod(Ring.tokens)

    def __init__(self, group):
        self.group = group

    def __call__(self, q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return RingFlashAttention.apply(self.group, q, k, v).transpose(1, 2)


if __name__ == "__main__":
    run(FlashRing)
