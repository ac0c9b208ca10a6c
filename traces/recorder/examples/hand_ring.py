# SPDX-License-Identifier: Apache-2.0
"""Ring attention written by hand, like the libraries for it. Blocks of KV move from rank to rank. Each rank attends
the blocks that its mask allows. The sums dK and dV travel with their block until they return to its owner.

Each step that people get wrong is a method of its own, which the scripts beside this file replace.
"""

import math

import torch
import torch.distributed as dist

import ringscope


class Ring:
    """A ring over contiguous shards: rank r has the r-th part of the sequence."""

    def __init__(self, group):
        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)

    @staticmethod
    def tokens(rank, size, length):
        """Returns the indices of a rank's tokens within the sequence, in the rank's order."""
        part = length // size
        return torch.arange(rank * part, (rank + 1) * part)

    def source(self, step):
        """Returns the rank whose block has arrived at a step."""
        return (self.rank - step) % self.size

    def pieces(self, source, rows):
        """Returns the attended parts of a block: (query rows, key rows, causal)."""
        if source > self.rank:
            return []
        return [((0, rows), (0, rows), source == self.rank)]

    def attend(self, q, k, v, causal):
        """Returns out and lse of one block."""
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        return scores.softmax(-1) @ v, scores.logsumexp(-1)

    def merge(self, out, lse, block_out, block_lse):
        merged = torch.logaddexp(lse, block_lse)
        keep, add = (lse - merged).exp(), (block_lse - merged).exp()
        return out * keep[..., None] + block_out * add[..., None], merged

    def pass_on(self, tensor):
        """Sends a tensor to the next rank and returns the previous rank's tensor."""
        arrives = torch.empty_like(tensor)
        following = dist.get_global_rank(self.group, (self.rank + 1) % self.size)
        previous = dist.get_global_rank(self.group, (self.rank - 1) % self.size)
        messages = [
            dist.P2POp(dist.isend, tensor, following, self.group),
            dist.P2POp(dist.irecv, arrives, previous, self.group),
        ]
        for request in dist.batch_isend_irecv(messages):
            request.wait()
        return arrives

    def next_kv(self, kv):
        return self.pass_on(kv)

    def next_kv_in_backward(self, kv):
        return self.pass_on(kv)

    def next_dkv(self, dkv, step):
        """Passes dK and dV on after every step. After the last step, they return to their owners."""
        return self.pass_on(dkv)

    def forward(self, q, k, v):
        ringscope.attention(q, k, v, group=self.group, causal=True)
        kv = torch.stack([k, v])
        out, lse = torch.zeros_like(q), torch.full(q.shape[:3], -math.inf)
        for step in range(self.size):
            source = self.source(step)
            for (q0, q1), (k0, k1), causal in self.pieces(source, q.shape[2]):
                held = kv[:, :, :, k0:k1]
                block_out, block_lse = self.attend(q[:, :, q0:q1], held[0], held[1], causal)
                out[:, :, q0:q1], lse[:, :, q0:q1] = self.merge(
                    out[:, :, q0:q1], lse[:, :, q0:q1], block_out, block_lse
                )
                ringscope.block(
                    step,
                    source,
                    kv[0],
                    kv[1],
                    out=block_out,
                    lse=block_lse,
                    running_lse=lse,
                    q_rows=(q0, q1),
                    k_rows=(k0, k1),
                    causal=causal,
                )
            if step + 1 < self.size:
                kv = self.next_kv(kv)
        ringscope.attention(out=out, lse=lse)
        return out, lse

    def backward(self, q, k, v, out, lse, dout):
        ringscope.attention(q, k, v, dout=dout, group=self.group)
        scale = 1 / math.sqrt(q.shape[-1])
        delta = (dout * out).sum(-1, keepdim=True)
        kv, dq = torch.stack([k, v]), torch.zeros_like(q)
        dkv = torch.zeros_like(kv)
        for step in range(self.size):
            source = self.source(step)
            for (q0, q1), (k0, k1), causal in self.pieces(source, q.shape[2]):
                held, rows = kv[:, :, :, k0:k1], slice(q0, q1)
                scores = q[:, :, rows] @ held[0].transpose(-1, -2) * scale
                p = (scores - lse[:, :, rows, None]).exp()
                p = p.tril() if causal else p
                ds = p * (dout[:, :, rows] @ held[1].transpose(-1, -2) - delta[:, :, rows]) * scale
                dq[:, :, rows] += ds @ held[0]
                dkv[0, :, :, k0:k1] += ds.transpose(-1, -2) @ q[:, :, rows]
                dkv[1, :, :, k0:k1] += p.transpose(-1, -2) @ dout[:, :, rows]
                ringscope.block(
                    step, source, kv[0], kv[1], q_rows=(q0, q1), k_rows=(k0, k1), causal=causal
                )
            if step + 1 < self.size:
                kv = self.next_kv_in_backward(kv)
            dkv = self.next_dkv(dkv, step)
        ringscope.attention(dq=dq, dk=dkv[0], dv=dkv[1])
        return dq, dkv[0], dkv[1]

    def __call__(self, q, k, v):
        return _RingAttention.apply(q, k, v, self)


class ZigzagRing(Ring):
    """A ring in which rank r has chunks r and 2 · size − 1 − r of 2 · size, so that all ranks have equal work."""

    @staticmethod
    def tokens(rank, size, length):
        chunks = torch.arange(length).view(2 * size, -1)
        return torch.cat([chunks[rank], chunks[2 * size - 1 - rank]])

    def pieces(self, source, rows):
        if source == self.rank:
            return [((0, rows), (0, rows), True)]
        if source < self.rank:
            return [((0, rows), (0, rows // 2), False)]
        return [((rows // 2, rows), (0, rows), False)]


class _RingAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, ring):
        out, lse = ring.forward(q, k, v)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.ring = ring
        return out

    @staticmethod
    def backward(ctx, dout):
        return (*ctx.ring.backward(*ctx.saved_tensors, dout), None)
