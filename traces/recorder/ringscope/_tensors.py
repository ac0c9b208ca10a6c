# SPDX-License-Identifier: Apache-2.0
"""What is kept of a tensor: statistics, a hash and, where the policy says so, its bytes."""

import contextlib
import math
import threading

import torch
from torch.utils._python_dispatch import _disable_current_modes

TYPES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.bfloat16: "bfloat16",
    torch.float16: "float16",
    torch.int32: "int32",
    torch.int64: "int64",
}

def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


_M1 = _signed(0x9E3779B97F4A7C15)
_M2 = _signed(0xBF58476D1CE4E5B9)
_M3 = _signed(0x94D049BB133111EB)
_M4 = 0xD6E8FEB86659FD93
_MOST = (1 << 64) - 1


@contextlib.contextmanager
def quiet():
    """Within it nothing is recorded, differentiated, or seen by a mode of the user's."""
    with torch.no_grad(), _disable_current_modes(), torch.autocast("cpu", enabled=False):
        yield


class _Room(threading.local):
    """What hashing works in, by device; made once, since getting memory takes longer than using it."""

    def __init__(self):
        self._made = {}

    def of(self, device):
        """Words at once, the index's part of each word's number, and two rooms for so many."""
        if device not in self._made:
            at_once = 1 << (15 if device.type == "cpu" else 22)  # a CPU's cache holds so many
            index = torch.arange(1, at_once + 1, device=device) * _M2
            rooms = (torch.empty_like(index), torch.empty_like(index))
            self._made[device] = (at_once, index, *rooms)
        return self._made[device]


_room = _Room()


def mixsum64(tensor):
    """The hash that traces/core/hash.h defines, of the contiguous elements; an unsigned integer."""
    size = tensor.numel() * tensor.element_size()
    return (mixsum64_of_part(tensor, 0) + size * _M4) & _MOST


def mixsum64_of_part(tensor, first_word):
    """What a part of a tensor, from this word of 4 bytes on, adds to the hash of the whole. That of the
    size in bytes is added once."""
    words = _words(tensor)
    at_once, index, x_room, y_room = _room.of(words.device)
    total = 0
    for first in range(0, words.numel(), at_once):
        some = words[first : first + at_once]
        count = some.numel()
        x, y = x_room[:count], y_room[:count]
        x.copy_(some)
        torch.add(index[:count], x, alpha=_M1, out=x)
        if first_word + first:
            x.add_(_signed((first_word + first) * (_M2 & _MOST) & _MOST))
        torch.bitwise_right_shift(x, 32, out=y)
        x.bitwise_xor_(y.bitwise_and_(0xFFFFFFFF)).mul_(_M3)
        torch.bitwise_right_shift(x, 29, out=y)
        total += int(x.bitwise_xor_(y.bitwise_and_((1 << 35) - 1)).sum())
    return total & _MOST


def _words(tensor):
    """Its contiguous elements as words of 4 bytes, the last filled up with zeros."""
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    if data.numel() % 4:
        data = torch.cat([data, data.new_zeros(4 - data.numel() % 4)])
    if data.storage_offset() % 4:
        data = data.clone()
    return data.view(torch.uint32)


def statistics(tensor):
    """Over the finite elements: min, max, mean, abs_max; and the number of nan and inf."""
    values = tensor.detach().reshape(-1)
    nan = inf = 0
    if values.numel():
        low, high = (float(value) for value in torch.aminmax(values))
        if not (math.isfinite(low) and math.isfinite(high)):
            nan, inf = int(torch.isnan(values).sum()), int(torch.isinf(values).sum())
            values = values[torch.isfinite(values)]
            if values.numel():
                low, high = (float(value) for value in torch.aminmax(values))
    if values.numel() == 0:
        return {"min": 0.0, "max": 0.0, "mean": 0.0, "abs_max": 0.0, "nan": nan, "inf": inf}
    mean = _sum(values) / values.numel()
    return {
        "min": low,
        "max": high,
        "mean": mean if math.isfinite(mean) else 0.0,
        "abs_max": max(abs(low), abs(high)),
        "nan": nan,
        "inf": inf,
    }


def _sum(values):
    """In fp64, by parts that a cache holds."""
    at_once = _room.of(values.device)[0]
    parts = values.split(at_once) if values.numel() > at_once else (values,)
    return math.fsum(float(part.sum(dtype=torch.float64)) for part in parts)


def raw_bytes(tensor):
    """The contiguous elements, little-endian, as safetensors and our traces have them."""
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    kept = bytearray(data.numel())
    if kept:
        torch.frombuffer(kept, dtype=torch.uint8).copy_(data)
    return kept


def can_be_read(tensor):
    """Not while something is being compiled or only its shape is computed."""
    return (
        isinstance(tensor, torch.Tensor)
        and tensor.device.type != "meta"
        and not torch.compiler.is_compiling()
        and type(tensor).__name__ not in ("FakeTensor", "FunctionalTensor")
    )
