# SPDX-License-Identifier: Apache-2.0
"""Hashes and statistics of several tensors at once. Most of the cost of one tensor is the calls and the transfer of the
numbers, and batching shares both."""

import math

import torch

from ._hashing import gridsums64
from ._tensors import SUMMED_IN, extremes, statistics


def digests(tensors):
    """Returns (hash, statistics) of each contiguous tensor, as gridsum64() and statistics() compute them."""
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
    """Returns the statistics of one-dimensional tensors on one device."""
    summed = {}  # by type, because one transfer reads one type
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
    """Returns None if a number is not finite; statistics() then counts NaN and infinity."""
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(mean)):
        return None
    largest = max(abs(low), abs(high))
    return {"min": low, "max": high, "mean": mean, "abs_max": largest, "nan": 0, "inf": 0}
