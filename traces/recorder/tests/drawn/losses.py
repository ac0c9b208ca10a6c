# SPDX-License-Identifier: Apache-2.0
"""Losses of drawn jobs, in the ways of common trainers."""

import torch
import torch.nn.functional as F


class FusedLoss(torch.autograd.Function):
    """The sum of cross entropies of chunks of the hidden state, whose gradients forward computes (as Liger does)."""

    @staticmethod
    def forward(ctx, hidden, weight, labels):
        total, dhidden, dweight = 0, torch.zeros_like(hidden), torch.zeros_like(weight)
        for rows in torch.arange(len(hidden)).chunk(4):
            logits = (hidden[rows] @ weight.T).float()
            lse, kept = logits.logsumexp(-1), labels[rows] != -100
            target = labels[rows].clamp(min=0)
            total = total + ((lse - logits.gather(1, target[:, None])[:, 0]) * kept).sum()
            dlogits = (logits - lse[:, None]).exp()
            dlogits[torch.arange(len(rows)), target] -= 1
            dlogits = (dlogits * kept[:, None]).type_as(hidden)
            dhidden[rows], dweight = (dlogits @ weight).type_as(hidden), dweight + dlogits.T @ hidden[rows]
        ctx.save_for_backward(dhidden, dweight)
        return total

    @staticmethod
    def backward(ctx, gradient):
        dhidden, dweight = ctx.saved_tensors
        return (dhidden * gradient).type_as(dhidden), (dweight * gradient).type_as(dweight), None


def sum_of_losses(kind, logits, labels):
    """Returns the sum of the losses of all targets."""
    kept, target = labels != -100, labels.clamp(min=0)
    if kind == "smoothing":
        return F.cross_entropy(logits, labels, reduction="sum", label_smoothing=0.1)
    if kind == "z":
        z = logits.float().logsumexp(-1).square()
        return F.cross_entropy(logits, labels, reduction="sum") + 1e-3 * (z * kept).sum()
    if kind == "chunked":
        chunks = zip(logits.chunk(3), labels.chunk(3))
        return sum(F.cross_entropy(z, y, reduction="sum") for z, y in chunks)
    if kind == "log_softmax":
        return F.nll_loss(logits.float().log_softmax(-1), labels, reduction="sum")
    if kind == "by_hand":
        return ((logits.logsumexp(-1) - logits.gather(1, target[:, None])[:, 0]) * kept).sum()
    if kind == "masked":
        return (F.cross_entropy(logits, target, reduction="none") * kept).sum()
    return F.cross_entropy(logits, labels, reduction="sum")
