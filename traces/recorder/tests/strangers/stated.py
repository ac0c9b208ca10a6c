# SPDX-License-Identifier: Apache-2.0
"""Right and wrong cases of job.py whose modules state a window of attention, and cases that clip gradients in parts."""

import torch
from torch import nn

from right import Fsdp, Gathering
from right_losses import MaskedBlock

WINDOW, MOST_NORM = 12, 0.05


class WindowAttention(nn.Module):
    """States the window in the way of Transformers' attention modules."""

    sliding_window = WINDOW


class StatedWindow(Gathering):
    """The first layer has a window, the second one has none."""

    class block(MaskedBlock):
        def mask(self, rows, keys):
            earlier = keys <= rows
            return earlier & (keys > rows - WINDOW) if hasattr(self, "attention") else earlier

    def make_model(self):
        model = super().make_model()
        model.h[0].attention = WindowAttention()
        return model


class StatedWindowLeftOut(StatedWindow):
    finding = "mask_dropped"

    class block(MaskedBlock):
        def mask(self, rows, keys):
            return keys <= rows


class ClippedParts(Fsdp):
    def update(self, loss):
        self.clip(list(self.model.parameters()))
        super().update(loss)

    def clip(self, parameters):
        torch.nn.utils.clip_grad_norm_(parameters, MOST_NORM)


class ClippedByOwnNorm(ClippedParts):
    finding = "clip_before_reduce"

    def clip(self, parameters):
        gradients = [parameter.grad.to_local() for parameter in parameters]
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
        for gradient in gradients:
            gradient.mul_((MOST_NORM / (norm + 1e-6)).clamp(max=1))
