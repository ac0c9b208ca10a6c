# SPDX-License-Identifier: Apache-2.0
"""Right and wrong cases of job.py with losses of policies: divergences from a reference, advantages, and means over the
tokens of a response."""

import torch
import torch.distributed as dist

from job import LENGTH
from right_losses import SequenceMeans


def summed(value):
    """Returns the sum over all ranks."""
    value = value.clone()
    dist.all_reduce(value)
    return value


class Policy(SequenceMeans):
    """Each token has an advantage of its own, and counts its divergence from a reference as well."""

    def batch(self, step):
        random = torch.Generator().manual_seed(step)
        draw = torch.randn(2, 2, LENGTH, generator=random)
        return {**super().batch(step), "advantages": draw[0], "reference": draw[1] - 4}

    def advantages(self, buffers):
        return buffers["advantages"]

    def reference(self, buffers):
        return buffers["reference"]

    def forward(self, buffers, count):
        logits, mask = self.logits(buffers), buffers["mask"]
        picked = logits.log_softmax(-1).gather(-1, buffers["labels"][..., None])[..., 0]
        ratio, distance = (picked - picked.detach()).exp(), self.reference(buffers) - picked
        each = 0.1 * (distance.exp() - distance - 1) - ratio * self.advantages(buffers)
        return ((each * mask).sum(1) / self.lengths(mask)).mean()


class PolicyOfOwnMeans(Policy):
    finding = "mean_of_local_means"

    def lengths(self, mask):
        return mask.sum(1).clamp(min=1) * self.world


class PolicyOfScaledMeans(Policy):
    """Each rank's mean over its own tokens counts as many tokens as it has."""

    def forward(self, buffers, count):
        self.own = buffers["mask"].sum()
        return super().forward(buffers, count) * self.own / summed(self.own) * 2

    def lengths(self, mask):
        return self.own


class Whitened(Policy):
    """The advantages have the mean 0 and the deviation 1 over all tokens of the responses."""

    def sums(self, value):
        return summed(value.sum())

    def advantages(self, buffers):
        mask = buffers["mask"].bool()
        some = buffers["advantages"][mask]
        count = self.sums(torch.ones_like(some))
        mean = self.sums(some) / count
        deviation = (self.sums((some - mean) ** 2) / count).sqrt()
        whitened = (buffers["advantages"] - mean) / (deviation + 1e-8)
        self.kept = whitened, mask
        return whitened

    def train_on(self, buffers, count):
        """The variables of a step live until its backward, as in a script without functions."""
        with self.sharded(buffers):
            loss = self.forward(buffers, count)
            whitened, mask = self.kept
            loss.backward()
        return loss


class WhitenedByOwnTokens(Whitened):
    finding = "mean_of_local_means"

    def sums(self, value):
        return value.sum()


class OneAdvantagePerResponse(Whitened):
    """Advantages that are the same for all tokens of a response are normalised over the responses."""

    def advantages(self, buffers):
        rewards = torch.tensor([[1.5], [-0.5]])
        whitened = ((rewards - rewards.mean()) / rewards.std(correction=0)).expand(buffers["mask"].shape).contiguous()
        self.kept = whitened, torch.ones_like(buffers["mask"])
        return whitened


class ReferenceOfAll(Policy):
    """The reference's values are gathered and put in order. Each rank takes those of its tokens."""

    def train_on(self, buffers, count):
        with self.sharded(buffers):
            reference = self.own(self.gathered(buffers["reference"]))
            loss = self.forward({**buffers, "reference": reference}, count)
            loss.backward()
        return loss

    def gathered(self, part):
        parts = [torch.empty_like(part) for _ in range(self.world)]
        dist.all_gather(parts, part.contiguous())
        halves = [half for part in parts for half in part.chunk(2, 1)]
        return torch.cat(halves[::2] + halves[1::2][::-1], 1)

    def own(self, whole):
        cut = whole.chunk(2 * self.world, 1)
        return torch.cat([cut[dist.get_rank()], cut[-1 - dist.get_rank()]], 1)


class ReferenceInOrder(ReferenceOfAll):
    finding = "companion_cut_otherwise"

    def own(self, whole):
        return whole.chunk(self.world, 1)[dist.get_rank()]
