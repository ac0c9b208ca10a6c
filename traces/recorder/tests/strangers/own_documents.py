# SPDX-License-Identifier: Apache-2.0
"""Cases of job.py whose shards are documents, responses or turns by themselves, or that sum late. One is wrong."""

import torch
import torch.distributed as dist

from borders import Masked, MaskedBlock, Scored, own_rows
from job import LENGTH, VOCABULARY
from right import Gathering


class FourShards(Masked):
    """Attends all earlier tokens, on four ranks."""

    ranks = 4

    def width(self):
        return LENGTH // self.world

    def allowed(self):
        return torch.ones(1, LENGTH, LENGTH, dtype=torch.bool)

    def places(self):
        return torch.arange(LENGTH).expand(2, -1)


class PositionsOfOwnShard(FourShards):
    """The job counts positions in its shard, and gives them to its model."""

    finding = "missing_position_ids"

    def places(self):
        return (torch.arange(LENGTH) % self.width()).expand(2, -1)


class OwnDocuments(FourShards):
    """Documents as long as shards attend themselves alone, and the last token of each has no target."""

    def places(self):
        return (torch.arange(LENGTH) % self.width()).expand(2, -1)

    def batch(self, step):
        batch = super().batch(step)
        batch["labels"][:, self.width() - 1 :: self.width()] = -100
        return batch

    def allowed(self):
        document = torch.arange(LENGTH) // self.width()
        return (document[:, None] == document)[None]


class PackedResponses(OwnDocuments):
    """Each document is a response to a prompt, and counts by the mean over its tokens."""

    def batch(self, step):
        batch = super().batch(step)
        prompts = torch.randint(2, 9, (2, self.world), generator=torch.Generator().manual_seed(step))
        place = torch.arange(LENGTH)
        batch["labels"][place % self.width() < prompts[:, place // self.width()]] = -100
        return batch

    def loss(self, logits, labels, count):
        kept = labels != -100
        picked = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        return -((picked * kept).sum(1) / kept.sum(1)).sum() / (2 * self.world)


class TwoStreams(FourShards):
    """Draft training: the second half repeats the tokens of the first, and attends the earlier ones there and itself."""

    def batch(self, step):
        batch = super().batch(step)
        for name in ("ids", "labels"):
            batch[name] = batch[name][:, : LENGTH // 2].repeat(1, 2)
        return batch

    def allowed(self):
        token, key = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)
        return ((token < LENGTH // 2) | (token == key) | (key < token - LENGTH // 2))[None]

    def places(self):
        return (torch.arange(LENGTH) % (LENGTH // 2)).expand(2, -1)


class EndsOfDocuments(FourShards):
    """Each shard is a document of a row that is attended as one. Its last target ends it and is no input."""

    def sequence(self, step):
        return super().sequence(step) % (VOCABULARY - 1)

    def batch(self, step):
        batch = super().batch(step)
        batch["labels"][:, self.width() - 1 :: self.width()] = VOCABULARY - 1
        return batch


class TurnAdvantages(FourShards):
    """Each shard is a turn of a dialogue with an advantage of its own."""

    def batch(self, step):
        self.advantages = torch.rand(2, self.world, generator=torch.Generator().manual_seed(step)) + 0.5
        return super().batch(step)

    def loss(self, logits, labels, count):
        picked = logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]
        turns = own_rows(labels.shape[1]) // self.width()
        return -(picked * self.advantages[:, turns]).sum() / (2 * LENGTH)


class ScoredDocuments(Scored):
    """Each shard is a document with a score at its end, and each sequence has the mean of these scores."""

    block = MaskedBlock

    def batch(self, step):
        document = torch.arange(LENGTH) // (LENGTH // self.world)
        MaskedBlock.allowed = ((document[:, None] == document) & torch.ones(LENGTH, LENGTH).tril().bool())[None]
        return super().batch(step)

    def scores(self, scored):
        return scored[:, -1] / self.world


class SummingAdamW(torch.optim.AdamW):
    """Sums the gradients of all ranks within its step, as optimizers do that divide their state among ranks."""

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                dist.all_reduce(parameter.grad)
        return super().step(closure)


class SummedInStep(Gathering):
    def make_optimizer(self):
        return SummingAdamW(self.model.parameters(), lr=1e-3)

    def sync(self):
        pass
