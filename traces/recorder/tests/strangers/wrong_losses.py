# SPDX-License-Identifier: Apache-2.0
"""Wrong cases of job.py: twins of those in right_losses.py."""

import torch
import torch.distributed as dist

import right_losses
from job import angles


class FurtherHeadFirstRolled(right_losses.FurtherHeadFirst):
    finding = "future_tokens_rolled_in_shard"

    def forward(self, buffers, count):
        return super().forward({**buffers, "further_labels": self.later(buffers["labels"])}, count)


class PickedLabelsPerShard(right_losses.PickedTokens):
    """Each rank rolls its own tokens."""

    finding = "shift_labels_per_shard"
    prompt = 0

    def forward(self, buffers, count):
        return super().forward({**buffers, "labels": torch.roll(buffers["ids"], -1, 1)}, count)


class PickedMeans(right_losses.PickedLogits):
    finding = "mean_of_local_means"

    def loss(self, logits, labels, count):
        return super().loss(logits, labels, (labels != -100).sum().clamp(min=1) * self.world)


class PreferencesOfOwnSums(right_losses.Preferences):
    """Each rank compares the sums of its own tokens."""

    finding = "mean_of_local_means"

    def sums(self, own):
        return own


class SequenceMeansOfRanks(right_losses.SequenceMeans):
    finding = "mean_of_local_means"

    def lengths(self, mask):
        return mask.sum(1) * self.world


class RestartingTeacher(right_losses.MovingTeacher):
    finding = "missing_position_ids"

    def turns(self, buffers):
        return angles(torch.arange(buffers["ids"].shape[1]))


class MeansOfChunks(right_losses.Chunks):
    finding = "accumulation_mean_of_means"

    def chunk(self, hidden, labels, count):
        return super().chunk(hidden, labels, 4 * self.world * (labels != -100).sum().clamp(min=1))


class PartsFirstUnsummed(right_losses.PartsFirst):
    """The gradient of one parameter stays the rank's own."""

    finding = "missing_cp_grad_reduce"

    def sync(self):
        for name, parameter in self.model.named_parameters():
            if not name.startswith("h.1.mlp"):
                dist.all_reduce(parameter.grad)


class PrefixOfOwnRows(right_losses.Prefix):
    """The rows of the mask count from 0 on every rank."""

    finding = "unknown_mistake"

    class block(right_losses.MaskedBlock):
        def mask(self, rows, keys):
            return (keys <= rows % len(rows)) | (keys < 16)
