# SPDX-License-Identifier: Apache-2.0
"""Right cases of job.py: rings and all-to-alls that nothing annotates. Each step that people get wrong is a method,
which the cases in wrong.py replace."""

import math

import torch
import torch.distributed as dist
import torch.nn.functional as F

from job import HEADS, KV_HEADS


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, ring):
        out, lse = ring.forward(q, k, v)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.ring = ring
        return out

    @staticmethod
    def backward(ctx, dout):
        return (*ctx.ring.backward(*ctx.saved_tensors, dout.contiguous()), None)


class Shared:
    """Attention over ranks that share the sequences in contiguous parts."""

    fewest = 2  # processes with which a wrong case differs from the right one
    is_seen = True  # in the recording of a wrong case

    def __init__(self, group):
        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)

    @staticmethod
    def tokens(rank, size, length):
        return torch.arange(length).chunk(size)[rank]

    def expanded(self, kv):
        """Returns K or V with one head per query head."""
        return kv.repeat_interleave(HEADS // KV_HEADS, dim=1)


class Ring(Shared):
    """A ring of blocks of KV. The sums dK and dV travel with their block until they return to its owner."""

    def source(self, step):
        """Returns the rank whose block has arrived at a step."""
        return (self.rank - step) % self.size

    def steps(self):
        return range(self.size)

    def allowed(self, source, rows):
        """Returns which keys of a block each query attends, or None for none."""
        if source > self.rank:
            return None
        whole = torch.ones(rows, rows, dtype=torch.bool)
        return whole.tril() if source == self.rank else whole

    def scale(self, q):
        return 1 / math.sqrt(q.shape[-1])

    def scores(self, q, k, allowed):
        scores = q.float() @ self.expanded(k).float().transpose(-1, -2) * self.scale(q)
        return scores.masked_fill(~allowed, -math.inf)

    def attend(self, q, k, v, allowed):
        """Returns out and lse of one block, as kernels do: rows without a key have an lse of −∞."""
        scores = self.scores(q, k, allowed)
        lse = scores.logsumexp(-1)
        p = (scores - lse.clamp(min=-1e30)[..., None]).exp()
        return (p @ self.expanded(v).float()).type_as(q), lse

    def merge(self, out, lse, block_out, block_lse):
        merged = torch.logaddexp(lse, block_lse)
        keep, add = (lse - merged).exp().nan_to_num(), (block_lse - merged).exp().nan_to_num()
        return out * keep[..., None] + block_out * add[..., None], merged

    def pass_on(self, tensor, hops=1):
        """Sends a tensor to the next rank and returns the previous rank's tensor."""
        arrives = torch.empty_like(tensor)
        following, previous = (dist.get_global_rank(self.group, (self.rank + h) % self.size) for h in (hops, -hops))
        requests = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, tensor.contiguous(), following, self.group),
                dist.P2POp(dist.irecv, arrives, previous, self.group),
            ]
        )
        for request in requests:
            request.wait()
        return arrives

    def next_kv(self, kv, step):
        return self.pass_on(kv)

    def next_kv_in_backward(self, kv, step):
        return self.pass_on(kv)

    def next_dkv(self, dkv, step):
        """Passes dK and dV on after every step. After the last step, they return to their owners."""
        return self.pass_on(dkv)

    def forward(self, q, k, v):
        kv = torch.stack([k, v])
        out, lse = torch.zeros(q.shape), torch.full(q.shape[:3], -math.inf)
        for step in self.steps():
            allowed = self.allowed(self.source(step), q.shape[2])
            if allowed is not None:
                out, lse = self.merge(out, lse, *self.attend(q, kv[0], kv[1], allowed))
            if step + 1 < self.size:
                kv = self.next_kv(kv, step)
        return out.type_as(q), lse

    def delta(self, out, dout):
        return (dout.float() * out.float()).sum(-1)

    def sums(self, q, kv, out, lse, dout, allowed):
        """Returns the lse and delta with which a block's backward works."""
        return lse, self.delta(out, dout)

    def backward(self, q, k, v, out, lse, dout):
        kv = torch.stack([k, v])
        dq, dkv = torch.zeros(q.shape), torch.zeros(kv.shape)
        for step in self.steps():
            allowed = self.allowed(self.source(step), q.shape[2])
            if allowed is not None:
                sums = self.sums(q, kv, out, lse, dout, allowed)
                add = self.gradients(q, kv, dout, allowed, *sums)
                dq += add[0]
                dkv += torch.stack(add[1:])
            if step + 1 < self.size:
                kv = self.next_kv_in_backward(kv, step)
            dkv = self.next_dkv(dkv, step)
        return (x.type_as(q) for x in (dq, *dkv))

    def gradients(self, q, kv, dout, allowed, lse, delta):
        dout, values = dout.float(), self.expanded(kv[1]).float()
        p = (self.scores(q, kv[0], allowed) - lse[..., None]).exp()
        p = p.masked_fill(~allowed, 0)  # also of rows without a key
        ds = p * (dout @ values.transpose(-1, -2) - delta[..., None]) * self.scale(q)
        dk, dv = ds.transpose(-1, -2) @ q.float(), p.transpose(-1, -2) @ dout
        return ds @ self.expanded(kv[0]).float(), self.folded(dk), self.folded(dv)

    def folded(self, gradient):
        """Sums over the query heads that share a KV head."""
        return gradient.unflatten(1, (KV_HEADS, -1)).sum(2)

    def __call__(self, q, k, v):
        return Attention.apply(q, k, v, self)


class ZigzagRing(Ring):
    """Rank r has chunks r and 2 · size − 1 − r of 2 · size, so that all ranks have equal work."""

    @staticmethod
    def tokens(rank, size, length):
        chunks = torch.arange(length).chunk(2 * size)
        return torch.cat([chunks[rank], chunks[2 * size - 1 - rank]])

    def allowed(self, source, rows):
        whole, half = torch.ones(rows, rows, dtype=torch.bool), rows // 2
        if source == self.rank:
            return whole.tril()
        if source < self.rank:
            whole[:, half:] = False
        else:
            whole[:half] = False
        return whole


class StripedRing(Ring):
    """Rank r has every size-th token from r on."""

    @staticmethod
    def tokens(rank, size, length):
        return torch.arange(rank, length, size)

    def allowed(self, source, rows):
        return torch.ones(rows, rows, dtype=torch.bool).tril(0 if source <= self.rank else -1)


class ChunkedRing(Ring):
    """Each token attends the earlier tokens of its chunk, as in Llama 4."""

    def attends(self, q, k):
        """Reports which tokens k each token of q attends."""
        return (k <= q) & (k // 24 == q // 24)

    def allowed(self, source, rows):
        first, of_source = (torch.arange(rows) + rank * rows for rank in (self.rank, source))
        return self.attends(first[:, None], of_source[None])


class StreamingRing(ChunkedRing):
    """Each token attends the first tokens and the last ones before it (Xiao et al. 2023, arXiv:2309.17453)."""

    def attends(self, q, k):
        return (k <= q) & ((k < 4) | (k > q - 12))


class ImageRing(ChunkedRing):
    """Tokens 20 to 41 are those of an image, which attend each other in both directions."""

    def attends(self, q, k):
        return (k <= q) | ((q >= 20) & (q < 42) & (k >= 20) & (k < 42))


class TiledHeads(ZigzagRing):
    """Query head h attends KV head h mod KV_HEADS, in a model that is never used otherwise."""

    def expanded(self, kv):
        return kv.repeat(1, HEADS // KV_HEADS, 1, 1)

    def folded(self, gradient):
        return gradient.unflatten(1, (-1, KV_HEADS)).sum(1)


class BackwardsRing(Ring):
    """Blocks travel to the previous rank."""

    def source(self, step):
        return (self.rank + step) % self.size

    def pass_on(self, tensor, hops=1):
        return super().pass_on(tensor, -hops)


class Gathered(Shared):
    """Every rank gathers all keys and values, and sums their gradients."""

    def gather(self, x):
        parts = [torch.empty_like(x) for _ in range(self.size)]
        dist.all_gather(parts, x.contiguous(), group=self.group)
        return torch.cat(parts, dim=2)

    def scattered(self, gradient):
        """Returns the sum of all ranks' gradients of this rank's part."""
        dist.all_reduce(gradient, group=self.group)
        return gradient.chunk(self.size, dim=2)[self.rank]

    def allowed(self, rows):
        all_rows = torch.ones(rows * self.size, rows * self.size, dtype=torch.bool).tril()
        return all_rows.chunk(self.size)[self.rank]

    def __call__(self, q, k, v):
        return GatheredAttention.apply(q, k, v, self)


class GatheredAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, shared):
        ctx.shared = shared
        with torch.enable_grad():
            q, k, v = (x.detach().requires_grad_() for x in (q, shared.gather(k), shared.gather(v)))
            mask = shared.allowed(q.shape[2])
            out = F.scaled_dot_product_attention(q, shared.expanded(k), shared.expanded(v), attn_mask=mask)
        ctx.save_for_backward(q, k, v)
        ctx.out = out
        return out.detach()

    @staticmethod
    def backward(ctx, dout):
        dq, dk, dv = torch.autograd.grad(ctx.out, ctx.saved_tensors, dout)
        return dq, ctx.shared.scattered(dk), ctx.shared.scattered(dv), None


class Ulysses(Shared):
    """All-to-alls give each rank all tokens of some heads, and return the rows."""

    def to_heads(self, x):
        return Exchange.apply(x, self, 1, 2)

    def to_rows(self, x):
        return Exchange.apply(x, self, 2, 1)

    def split(self, x, dim):
        return x.chunk(self.size, dim)

    def joined(self, parts, dim):
        return torch.cat(parts, dim)

    def whole(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def __call__(self, q, k, v):
        return self.ulysses(q, self.expanded(k), self.expanded(v))

    def ulysses(self, q, k, v):
        return self.to_rows(self.whole(*(self.to_heads(x) for x in (q, k, v))))


class Exchange(torch.autograd.Function):
    """The exchange that splits dimension `split` and joins dimension `join`."""

    @staticmethod
    def forward(ctx, x, shared, split, join):
        ctx.how = shared, join, split
        sent = torch.stack([part.contiguous() for part in shared.split(x, split)])
        arrived = torch.empty_like(sent)
        dist.all_to_all_single(arrived, sent, group=shared.group)
        return shared.joined(list(arrived), join)

    @staticmethod
    def backward(ctx, gradient):
        return Exchange.apply(gradient, *ctx.how), None, None, None
