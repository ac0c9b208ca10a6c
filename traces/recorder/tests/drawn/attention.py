# SPDX-License-Identifier: Apache-2.0
"""Hand-written attention over shards, in the ways of common libraries, for drawn jobs. Nothing is annotated."""

import math
import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

_NOTHING = -1e30  # log-sum-exp of no key; -inf would make gradients of NaN


def tokens_of(layout, rank, size, length):
    """Returns the indices of a rank's tokens in a layout, in the rank's order."""
    whole = torch.arange(length)
    if layout == "zigzag":
        chunks = whole.chunk(2 * size)
        return torch.cat([chunks[rank], chunks[2 * size - 1 - rank]])
    return whole[rank::size] if layout == "striped" else whole.chunk(size)[rank]


class Mask:
    """The pairs of query and key that attend: causal, within a window, within a document. `documents` is [length], or
    [batch, length] where sequences have documents of their own."""

    def __init__(self, length, window=None, documents=None):
        self.window = window
        self.documents = torch.zeros(length, dtype=torch.long) if documents is None else documents

    def __call__(self, queries, keys):
        """Returns a boolean [queries, keys] or [batch, 1, queries, keys] for indices within the sequence."""
        back = queries[:, None] - keys[None]
        of_queries, of_keys = self.documents[..., queries], self.documents[..., keys]
        seen = (back >= 0) & (of_queries[..., :, None] == of_keys[..., None, :])
        seen = seen[:, None] if seen.dim() == 3 else seen
        return seen if self.window is None else seen & (back < self.window)


@torch.autocast("cpu", enabled=False)
def attend(q, k, v, seen, scale, sinks=None, softcap=None):
    """Returns out and log-sum-exp of attention over [B, H, S, D]. Rows without a key give 0 and _NOTHING."""
    scores = q.float() @ k.float().transpose(-1, -2) * scale
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    without = ~seen.any(-1)
    scores = scores.masked_fill(~(seen | without[..., None]), -math.inf)
    if sinks is not None:
        column = sinks.float()[None, :, None, None].expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, column], -1)
    lse = scores.logsumexp(-1)
    out = (scores - lse[..., None]).exp()[..., : k.shape[2]] @ v.float()
    return out.masked_fill(without[..., None], 0), lse.masked_fill(without, _NOTHING)


class Pass(torch.autograd.Function):
    """Sends a tensor to the next rank of a ring and returns the previous rank's. Backward goes the other way."""

    @staticmethod
    def forward(ctx, tensor, group, by):
        ctx.group, ctx.by = group, by
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        tensor = tensor.contiguous()
        arrives = torch.empty_like(tensor)
        to, source = (dist.get_global_rank(group, (rank + step) % size) for step in (by, -by))
        messages = [dist.P2POp(dist.isend, tensor, to, group), dist.P2POp(dist.irecv, arrives, source, group)]
        for request in dist.batch_isend_irecv(messages):
            request.wait()
        return arrives

    @staticmethod
    def backward(ctx, gradient):
        return Pass.apply(gradient, ctx.group, -ctx.by), None, None


class Gather(torch.autograd.Function):
    """Gathers [B, H, S / n, D] along S. Backward sums what all ranks give for this rank's part."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        x = x.contiguous()
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x, group=group)
        return torch.cat(parts, 2)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient.chunk(dist.get_world_size(ctx.group), 2)[dist.get_rank(ctx.group)], None


class AllToAll(torch.autograd.Function):
    """Cuts along the dimension `cut` and joins what arrives along `join`."""

    @staticmethod
    def forward(ctx, x, group, cut, join):
        ctx.arguments = group, join, cut
        size = dist.get_world_size(group)
        sent = torch.stack([part.contiguous() for part in x.chunk(size, cut)])
        arrives = torch.empty_like(sent)
        dist.all_to_all_single(arrives, sent, group=group)
        return torch.cat(list(arrives), join)

    @staticmethod
    def backward(ctx, gradient):
        return AllToAll.apply(gradient, *ctx.arguments), None, None, None


class Shards:
    """The tokens of each rank and the mask, for all kinds."""

    def __init__(self, group, layout, mask, length, repeats, scale=None, softcap=None):
        self.group, self.mask, self.repeats, self.scale, self.softcap = group, mask, repeats, scale, softcap
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.tokens = [tokens_of(layout, rank, self.size, length) for rank in range(self.size)]
        self.own = self.tokens[self.rank]

    def scale_of(self, q):
        return q.shape[-1] ** -0.5 if self.scale is None else self.scale

    def repeat(self, x):
        return x.repeat_interleave(self.repeats, 1) if self.repeats > 1 else x

    def local(self, q, k, v, seen, sinks):
        """Attends gathered keys, by PyTorch's operator where it can."""
        if sinks is None and self.softcap is None:
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=self.scale)
        else:
            out = attend(q, k, v, seen, self.scale_of(q), sinks, self.softcap)[0]
        return out.type_as(q)


class GatheredKeys(Shards):
    def __call__(self, q, k, v, sinks=None):
        keys, values = (self.repeat(Gather.apply(x, self.group)) for x in (k, v))
        return self.local(q, keys, values, self.mask(self.own, torch.cat(self.tokens)), sinks)


class Ulysses(Shards):
    """Heads are exchanged for tokens. Tokens are put into the order of the sequence before attention."""

    def __call__(self, q, k, v, sinks=None):
        order = torch.cat(self.tokens)
        whole = (q, self.repeat(k), self.repeat(v))
        q, k, v = (AllToAll.apply(x, self.group, 1, 2)[:, :, order.argsort()] for x in whole)
        if sinks is not None:
            sinks = sinks.chunk(self.size)[self.rank]
        every = torch.arange(len(order))
        out = self.local(q, k, v, self.mask(every, every), sinks)
        return AllToAll.apply(out[:, :, order].contiguous(), self.group, 2, 1)


class FlexUlysses(Ulysses):
    """flex_attention with a mask of blocks."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        allow_flex_on_cpu()

    def local(self, q, k, v, seen, sinks):
        blocks = create_block_mask(lambda b, h, i, j: seen[i, j], None, None, *seen.shape, "cpu", BLOCK_SIZE=16)
        return flex_attention(q, k, v, block_mask=blocks, scale=self.scale).type_as(q)


def allow_flex_on_cpu():
    """Lets flex_attention run backward on a CPU in eager mode, where PyTorch rejects it."""
    flex._validate_device = lambda query, key, value: None
    warnings.filterwarnings("ignore", "flex_attention called without torch.compile")


class Ring(Shards):
    """KV blocks travel from rank to rank, and autograd sends gradients back the same way."""

    def __call__(self, q, k, v, sinks=None):
        out = torch.zeros(q.shape, dtype=torch.float32)
        lse = torch.full(q.shape[:3], _NOTHING)
        kv = torch.stack([k, v])
        for step in range(self.size):
            source = (self.rank - step) % self.size
            seen = self.mask(self.own, self.tokens[source])
            if seen.any():
                block, block_lse = attend(q, self.repeat(kv[0]), self.repeat(kv[1]), seen, self.scale_of(q),
                                          softcap=self.softcap)
                out, lse = merge(out, lse, block, block_lse)
            else:
                out = out + 0 * kv.sum()  # all ranks take part in backward
            if step + 1 < self.size:
                kv = Pass.apply(kv, self.group, 1)
        if sinks is not None:
            out = out * torch.sigmoid(lse - sinks.float()[None, :, None])[..., None]
        return out.type_as(q)


def merge(out, lse, block, block_lse):
    """Merges two results by their log-sum-exps."""
    both = torch.logaddexp(lse, block_lse)
    return out * (lse - both).exp()[..., None] + block * (block_lse - both).exp()[..., None], both


class RingFunction(Shards):
    """The same ring as an autograd.Function, which computes the gradients itself."""

    def __call__(self, q, k, v, sinks=None):
        return _Ring.apply(q, self.repeat(k), self.repeat(v), self)

    def forward(self, q, k, v):
        out, lse = torch.zeros(q.shape, dtype=torch.float32), torch.full(q.shape[:3], _NOTHING)
        for step in range(self.size):
            source = (self.rank - step) % self.size
            seen = self.mask(self.own, self.tokens[source])
            if seen.any():
                out, lse = merge(out, lse, *attend(q, k, v, seen, self.scale_of(q)))
            if step + 1 < self.size:
                k, v = (Pass.apply(x, self.group, 1) for x in (k, v))
        return out.type_as(q), lse

    def backward(self, q, k, v, out, lse, dout):
        q, k, v, out, dout = (x.float() for x in (q, k, v, out, dout))
        delta = (dout * out).sum(-1, keepdim=True)
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        scale = self.scale_of(q)
        for step in range(self.size):
            source = (self.rank - step) % self.size
            seen = self.mask(self.own, self.tokens[source])
            if seen.any():
                p = (q @ k.transpose(-1, -2) * scale - lse[..., None]).exp().masked_fill(~seen, 0)
                ds = p * (dout @ v.transpose(-1, -2) - delta) * scale
                dq = dq + ds @ k
                dk, dv = dk + ds.transpose(-1, -2) @ q, dv + p.transpose(-1, -2) @ dout
            if step + 1 < self.size:
                k, v = (Pass.apply(x, self.group, 1) for x in (k, v))
            dk, dv = (Pass.apply(x, self.group, 1) for x in (dk, dv))
        return dq, dk, dv


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, ring):
        out, lse = ring.forward(q, k, v)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.ring = ring
        return out

    @staticmethod
    def backward(ctx, dout):
        saved = ctx.saved_tensors
        return (*(g.type_as(x) for g, x in zip(ctx.ring.backward(*saved, dout), saved)), None)


KINDS = {"gather": GatheredKeys, "ulysses": Ulysses, "flex": FlexUlysses, "ring": Ring, "ring_function": RingFunction}
