# SPDX-License-Identifier: Apache-2.0
"""Wrong cases of job.py. `finding` is the name of the mistake."""

import math

import torch

import right


class NaiveSum(right.Ring):
    finding = "naive_sum_merge"

    def merge(self, out, lse, block_out, block_lse):
        return out + block_out, torch.logaddexp(lse, block_lse)


class NaiveSumOfZigzag(NaiveSum, right.ZigzagRing):
    pass


class NaiveSumOfStripes(NaiveSum, right.StripedRing):
    pass


class MeanOfBlocks(NaiveSum, right.StripedRing):
    finding = "naive_sum_merge"

    def forward(self, q, k, v):
        out, lse = super().forward(q, k, v)
        return out / self.size, lse


class BaseTwo(right.Ring):
    """The kernel returns a logarithm to base 2."""

    finding = "lse_base2"

    def attend(self, q, k, v, allowed):
        out, lse = super().attend(q, k, v, allowed)
        return out, lse / math.log(2)


class BaseTwoOfZigzag(BaseTwo, right.ZigzagRing):
    pass


class WeightsToBaseTwo(right.ZigzagRing):
    """The merge takes natural logarithms for logarithms to base 2."""

    finding = "lse_base2"

    def merge(self, out, lse, block_out, block_lse):
        merged = torch.logaddexp2(lse, block_lse)
        keep, add = (lse - merged).exp2().nan_to_num(), (block_lse - merged).exp2().nan_to_num()
        return out * keep[..., None] + block_out * add[..., None], merged


class LowPrecision(right.ZigzagRing):
    """The running log-sum-exp is kept in bfloat16."""

    finding = "lse_low_precision"

    def merge(self, out, lse, block_out, block_lse):
        out, lse = super().merge(out, lse, block_out, block_lse)
        return out, lse.bfloat16().float()


class LowPrecisionOut(right.Ring):
    """The running output is kept in bfloat16."""

    finding = "lse_low_precision"

    def merge(self, out, lse, block_out, block_lse):
        out, lse = super().merge(out, lse, block_out, block_lse)
        return out.bfloat16().float(), lse


class CausalEverywhere(right.Ring):
    finding = "causal_on_every_block"

    def allowed(self, source, rows):
        allowed = super().allowed(source, rows)
        return None if allowed is None else allowed.tril()


class CausalEverywhereOfZigzag(right.ZigzagRing):
    """Each rectangle of a block is causal in itself."""

    finding = "causal_on_every_block"

    def allowed(self, source, rows):
        allowed, half = super().allowed(source, rows), rows // 2
        if source > self.rank:
            return allowed & torch.ones(rows, rows, dtype=torch.bool).tril(-half)
        return allowed.tril()


class CausalEverywhereOfStripes(right.StripedRing):
    """Blocks of later ranks include the diagonal, as the rank's own does."""

    finding = "causal_on_every_block"

    def allowed(self, source, rows):
        return super().allowed(self.rank, rows)


class SeesTheFuture(right.Ring):
    finding = "no_skip_future_block"

    def allowed(self, source, rows):
        return super().allowed(min(source, self.rank), rows) if source == self.rank else super().allowed(-1, rows)


class SeesTheFutureOfZigzag(right.ZigzagRing):
    """Blocks of later ranks are attended by all queries."""

    finding = "no_skip_future_block"

    def allowed(self, source, rows):
        return torch.ones(rows, rows, dtype=torch.bool) if source > self.rank else super().allowed(source, rows)


class NoMask(right.Ring):
    finding = "mask_dropped"

    def allowed(self, source, rows):
        return torch.ones(rows, rows, dtype=torch.bool)


class NoMaskOfZigzag(NoMask, right.ZigzagRing):
    pass


class OwnBlockOnly(right.ZigzagRing):
    finding = "ring_bypassed"

    def allowed(self, source, rows):
        return super().allowed(source, rows) if source == self.rank else None


class NeverSwapped(right.Ring):
    """Received blocks are dropped."""

    finding = "kv_not_rotated"

    def next_kv(self, kv, step):
        self.pass_on(kv)
        return kv

    next_kv_in_backward = next_kv


class NeverSwappedOfZigzag(NeverSwapped, right.ZigzagRing):
    pass


class OtherWay(right.Ring):
    """Blocks are taken for those of the next ranks, but come from the previous ones."""

    finding = "wrong_ring_direction"
    fewest = 4

    def source(self, step):
        return (self.rank + step) % self.size


class OtherWayOfZigzag(OtherWay, right.ZigzagRing):
    pass


class LastHopMissing(right.ZigzagRing):
    """The loop ends one step early."""

    finding = "dropped_hop"
    fewest = 4

    def steps(self):
        return range(self.size - 1)


class OldBlock(right.ZigzagRing):
    """The second hop does not arrive: the block before it is used once more."""

    finding = "dropped_hop"
    fewest = 4

    def next_kv(self, kv, step):
        return kv if step == 1 else self.pass_on(kv)


class StaleInBackward(right.Ring):
    finding = "stale_kv_in_backward"

    def next_kv_in_backward(self, kv, step):
        self.pass_on(kv)
        return kv


class StaleInBackwardOfZigzag(StaleInBackward, right.ZigzagRing):
    pass


class OneHopShort(right.Ring):
    finding = "dkv_not_returned"

    def next_dkv(self, dkv, step):
        return dkv if step + 1 == self.size else self.pass_on(dkv)


class OneHopShortOfZigzag(OneHopShort, right.ZigzagRing):
    pass


class DkvNeverSent(right.ZigzagRing):
    """The gradients of all blocks are added to the rank's own."""

    finding = "dkv_not_returned"

    def next_dkv(self, dkv, step):
        return dkv


class OwnPartOfGradients(right.Gathered):
    """Each rank takes its part of its own gradients, without those of other ranks. Backward then sends nothing, so it is
    not recognised."""

    finding, is_seen = "dkv_not_returned", False

    def scattered(self, gradient):
        return gradient.chunk(self.size, dim=2)[self.rank]


class LocalSums(right.Ring):
    """Backward of a block works with the block's own lse and delta."""

    finding = "local_delta_in_backward"

    def sums(self, q, kv, out, lse, dout, allowed):
        out, lse = self.attend(q, kv[0], kv[1], allowed)
        return lse, self.delta(out, dout)


class LocalLse(right.ZigzagRing):
    finding = "local_delta_in_backward"

    def sums(self, q, kv, out, lse, dout, allowed):
        return self.attend(q, kv[0], kv[1], allowed)[1], self.delta(out, dout)


class LocalDelta(right.ZigzagRing):
    finding = "local_delta_in_backward"

    def sums(self, q, kv, out, lse, dout, allowed):
        return lse, self.delta(self.attend(q, kv[0], kv[1], allowed)[0], dout)


class OtherGroups(right.ZigzagRing):
    """Query heads attend the KV head of the group before."""

    finding = "gqa_group_broken"

    def expanded(self, kv):
        return super().expanded(kv.roll(1, dims=1))


class OtherGroupsOfUlysses(right.Ulysses):
    finding = "gqa_group_broken"

    def expanded(self, kv):
        return super().expanded(kv.roll(1, dims=1))


class KeysOfTheFuture(right.Gathered):
    """Every rank takes its first query for token 0 plus all keys: no mask."""

    finding = "mask_dropped"

    def allowed(self, rows):
        return torch.ones(rows, rows * self.size, dtype=torch.bool)


class CausalFromTheFirstKey(right.Gathered):
    """The mask of the rank's rows begins at the first of all keys."""

    finding = "causal_on_every_block"

    def allowed(self, rows):
        return torch.ones(rows, rows * self.size, dtype=torch.bool).tril()


class NotGathered(right.Gathered):
    """A rank attends its own keys alone."""

    finding = "ring_bypassed"

    def allowed(self, rows):
        allowed = super().allowed(rows).clone()
        allowed[:, : self.rank * rows] = False
        return allowed


class NotCausalUlysses(right.Ulysses):
    finding = "mask_dropped"

    def whole(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


class HeadsOfOtherRanks(right.Ulysses):
    """The heads return in the order of ranks turned round."""

    finding = "gqa_group_broken"

    def to_rows(self, x):
        return super().to_rows(x).flip(1)


class PartsInOtherOrder(right.Ulysses):
    """The parts of the sequence are joined in the wrong order, for queries, keys and values alike."""

    finding = "unbalanced_unshard"

    def joined(self, parts, dim):
        return torch.cat(parts[::-1] if dim == 2 else parts, dim)

    def split(self, x, dim):
        return x.chunk(self.size, dim)[::-1] if dim == 2 else x.chunk(self.size, dim)


class ZigzagTakenForContiguous(right.ZigzagRing):
    """Tokens are dealt head-tail, and masked as if they were contiguous."""

    finding = "unbalanced_unshard"
    allowed = right.Ring.allowed


class ContiguousTakenForZigzag(right.Ring):
    finding = "unbalanced_unshard"
    allowed = right.ZigzagRing.allowed
