# SPDX-License-Identifier: Apache-2.0
"""Right and wrong cases of job.py with a masked loss of two heads, and with microbatches whose gradients are summed."""

import torch
import torch.nn.functional as F

from job import LENGTH, Job
from right import FurtherHead


class MaskedHeads(FurtherHead):
    """The losses of both heads leave out the same tokens."""

    def batch(self, step):
        return {**super().batch(step), "loss_mask": (torch.arange(LENGTH)[None] >= 21).float()}

    def count(self, buffers):
        return buffers["loss_mask"].sum()

    def further(self, buffers):
        return buffers["further_labels"]

    def masked(self, logits, labels, buffers):
        each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return (each * buffers["loss_mask"].flatten()).sum()

    def forward(self, buffers, count):
        hidden = self.model.hidden(buffers["ids"], buffers["rotations"])
        main = self.masked(self.model.lm_head(hidden), buffers["labels"], buffers)
        return (main + 0.3 * self.masked(self.model.further(hidden), self.further(buffers), buffers)) / count


class MaskedHeadsRolled(MaskedHeads):
    finding = "future_tokens_rolled_in_shard"

    def further(self, buffers):
        return torch.roll(buffers["labels"], -1, 1)


class SummedOnce(Job):
    microbatches = 2


class SummedEachTime(SummedOnce):
    """Gradients of both microbatches are summed after the second one, and those of the first also before."""

    finding = "grad_scaled_by_cp"

    def train_on(self, buffers, count):
        loss = super().train_on(buffers, count)
        super().sync()
        return loss

    def sync(self):
        pass
