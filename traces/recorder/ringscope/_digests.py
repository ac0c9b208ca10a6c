# SPDX-License-Identifier: Apache-2.0
"""Hashes and statistics of several tensors in one go: most of what one costs is the calls and reading the
numbers, and these are shared."""

import math

import torch

from ._hashing import gridsums64
from ._tensors import SUMMED_IN, extremes, statistics


def digests(tensors):
    """Of contiguous tensors: (hash, statistics) of each, as gridsum64() and statistics() have them."""
    by_device = {}
    for at, tensor in enumerate(tensors):
        by_device.setdefault(tensor.device, []).append(at)
    found = [None] * len(tensors)
    for places in by_device.values():
        some = [tensors[at].view(-1) for at in places]
        for at, digest, numbers in zip(places, gridsums64(some), _statistics(some)):
            found[at] = (digest, numbers)
    return found


def _statistics(flat):
    """Of one-dimensional tensors of a device."""
    summed = {}  # by type: what can be read at once
    for at, values in enumerate(flat):
        if values.numel():
            low, high = extremes(values)
            total = values.sum(dtype=SUMMED_IN.get(values.dtype))
            summed.setdefault(values.dtype, []).append((at, low, high, total))
    found = [None] * len(flat)
    for rows in summed.values():
        places, lows, highs, totals = zip(*rows)
        ends, totals = torch.stack(lows + highs).tolist(), torch.stack(totals).tolist()
        for at, low, high, total in zip(places, ends, ends[len(places) :], totals):
            found[at] = _of(float(low), float(high), total / flat[at].numel())
    return [statistics(values) if at is None else at for values, at in zip(flat, found)]


def _of(low, high, mean):
    """None where something is not finite, which needs a closer look."""
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(mean)):
        return None
    largest = max(abs(low), abs(high))
    return {"min": low, "max": high, "mean": mean, "abs_max": largest, "nan": 0, "inf": 0}
