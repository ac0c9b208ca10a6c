# SPDX-License-Identifier: Apache-2.0
"""Right and wrong cases of job.py whose positions, masks or results could end with the shard of a rank."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from job import GPT, LENGTH, VOCABULARY, Job, angles
from right import Gather, Gathering, GatheringBlock


def own_rows(tokens):
    """Returns the places in the sequence of a rank's tokens."""
    return torch.arange(tokens) + tokens * dist.get_rank()


class MaskedBlock(GatheringBlock):
    """Each rank gathers keys and values, and attends those that `allowed` [B, S, S] of the whole sequence allows."""

    allowed = None

    def attend(self, q, k, v):
        k, v = Gather.apply(k), Gather.apply(v)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        allowed = MaskedBlock.allowed[:, None, own_rows(q.shape[2])]
        return scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).softmax(-1) @ v


class PositionedGPT(GPT):
    def forward(self, idx, position_ids):
        return super().forward(idx, angles(position_ids)[:, None])


class Masked(Gathering):
    """Two sequences. Positions [B, S] are those of places()."""

    block = MaskedBlock

    def sequence(self, step):
        return torch.randint(VOCABULARY, (2, LENGTH + 1), generator=torch.Generator().manual_seed(step))

    def batch(self, step):
        batch = super().batch(step)
        MaskedBlock.allowed = self.allowed() & torch.ones(LENGTH, LENGTH).tril().bool()
        return {"ids": batch["ids"], "labels": batch["labels"], "positions": self.places()}

    def make_model(self):
        model = super().make_model()
        model.__class__ = PositionedGPT
        return model

    def logits(self, buffers):
        return self.model(buffers["ids"], buffers["positions"])


class LeftPadded(Masked):
    """The sequences begin with 37 and 14 tokens of padding."""

    kept = torch.arange(LENGTH)[None] >= torch.tensor([[37], [14]])

    def batch(self, step):
        batch = super().batch(step)
        batch["labels"].masked_fill_(~self.kept, -100)
        return batch

    def allowed(self):
        return self.kept[:, None]

    def counted(self, kept):
        return (kept.cumsum(-1) - 1).masked_fill(~kept, 1)

    def places(self):
        return self.counted(self.kept)


class PositionsOfOwnPadding(LeftPadded):
    """Every rank counts positions from its own part of the padding mask."""

    finding = "missing_position_ids"

    def places(self):
        return torch.cat([self.counted(part) for part in self.kept.chunk(dist.get_world_size(), 1)], 1)


class MaskedDocuments(Masked):
    """Documents of 13, 27 and 24 tokens."""

    document = torch.repeat_interleave(torch.arange(3), torch.tensor([13, 27, 24]))

    def sequence(self, step):
        return super().sequence(step)[:1]

    def batch(self, step):
        batch = super().batch(step)
        batch["labels"][:, [12, 39]] = -100
        return batch

    def allowed(self):
        return (self.document[:, None] == self.document)[None]

    def places(self):
        return torch.cat([torch.arange(n) for n in (13, 27, 24)])[None]


class ChunkedDocuments(MaskedDocuments):
    """Tokens attend their documents within chunks that are as long as a shard."""

    def allowed(self):
        shard = torch.arange(LENGTH) // (LENGTH // dist.get_world_size())
        return super().allowed() & (shard[:, None] == shard)


class PositionsRestartInDocuments(MaskedDocuments):
    finding = "missing_position_ids"

    def places(self):
        return torch.cat([torch.arange(n) for n in (13, 19, 8, 24)])[None]


class Scored(Gathering):
    """Four sequences of different lengths, of which each has a score at its last token."""

    last = torch.tensor([63, 40, 25, 52])

    def sequence(self, step):
        return torch.randint(VOCABULARY, (4, LENGTH + 1), generator=torch.Generator().manual_seed(step))

    def make_model(self):
        model = super().make_model()
        model.score = nn.Linear(model.lm_head.in_features, 1, bias=False)
        del model.lm_head
        return model

    def scores(self, scored):
        own = own_rows(scored.shape[1])
        return (scored * (own == self.last[:, None])).sum(1)

    def forward(self, buffers, count):
        scores = self.scores(self.model.score(self.model.hidden(buffers["ids"], buffers["rotations"]))[..., 0])
        whole = scores.detach().clone()
        dist.all_reduce(whole)
        scores = scores + (whole - scores.detach())
        return -F.logsigmoid(scores[:2] - scores[2:]).mean()

    def report(self, loss):
        pass


class SplitCache(Job):
    """Keys and values of earlier tokens are on several ranks. The ranks merge their outputs for a new token."""

    def keeps(self):
        return dist.get_rank() == self.world - 1

    def merged(self, outs, lses):
        weights = lses.softmax(0)
        return (outs * weights.transpose(2, 3)[..., None]).sum(0)

    def attend(self, q, k, v):
        if self.keeps():
            self.keys, self.values = torch.cat([self.keys, k], 1), torch.cat([self.values, v], 1)
        keys, values = self.keys, self.values
        scores = torch.einsum("bqhd,bkhd->bhqk", q, keys) * q.shape[-1] ** -0.5
        out, lse = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), values), scores.logsumexp(-1)
        outs, lses = ([torch.empty_like(x) for _ in range(self.world)] for x in (out, lse))
        dist.all_gather(outs, out.contiguous())
        dist.all_gather(lses, lse.contiguous())
        return self.merged(torch.stack(outs), torch.stack(lses))

    @torch.no_grad()
    def run(self):
        model = self.make_model()
        random = torch.Generator().manual_seed(1 + dist.get_rank())
        self.keys, self.values = (torch.randn(1, 8, 2, 8, generator=random) for _ in range(2))
        shared = torch.Generator().manual_seed(99)
        for token in range(4):
            model(torch.tensor([[token, token + 1]]))
            self.attend(*(torch.randn(1, 1, 2, 8, generator=shared) for _ in range(3)))
        dist.barrier()
        dist.destroy_process_group()


class SplitCacheOfMeans(SplitCache):
    finding = "naive_sum_merge"

    def merged(self, outs, lses):
        return outs.mean(0)


class SplitCacheOfOtherBase(SplitCache):
    finding = "lse_base2"

    def merged(self, outs, lses):
        weights = torch.exp2(lses - lses.amax(0))
        return (outs * (weights / weights.sum(0)).transpose(2, 3)[..., None]).sum(0)


class SplitCacheKeptTwice(SplitCache):
    finding = "unknown_mistake"

    def keeps(self):
        return True
