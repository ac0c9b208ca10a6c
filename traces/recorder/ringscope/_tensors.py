# SPDX-License-Identifier: Apache-2.0
"""What is kept of a tensor: statistics, a hash and, where the policy says so, its bytes."""

import contextlib
import math

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

_WORDS_AT_ONCE = 1 << 20


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


_M1 = _signed(0x9E3779B97F4A7C15)
_M2 = _signed(0xBF58476D1CE4E5B9)
_M3 = _signed(0x94D049BB133111EB)
_M4 = 0xD6E8FEB86659FD93


@contextlib.contextmanager
def quiet():
    """Within it nothing is recorded, differentiated, or seen by a mode of the user's."""
    with torch.no_grad(), _disable_current_modes(), torch.autocast("cpu", enabled=False):
        yield


def _mixed(words, first):
    index = torch.arange(first + 1, first + 1 + words.numel(), device=words.device)
    x = (words.to(torch.int64) & 0xFFFFFFFF) * _M1 + index * _M2
    x = (x ^ ((x >> 32) & 0xFFFFFFFF)) * _M3
    return int((x ^ ((x >> 29) & ((1 << 35) - 1))).sum().item())


def mixsum64(tensor):
    """The hash that traces/core/hash.h defines, of the contiguous elements; an unsigned integer."""
    size = tensor.numel() * tensor.element_size()
    return (mixsum64_of_part(tensor, 0) + size * _M4) & 0xFFFFFFFFFFFFFFFF


def mixsum64_of_part(tensor, first_word):
    """What a part of a tensor, from this word of 4 bytes on, adds to the hash of the whole. That of the
    size in bytes is added once."""
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    if data.numel() % 4:
        data = torch.cat([data, data.new_zeros(4 - data.numel() % 4)])
    if data.storage_offset() % 4:
        data = data.clone()
    words = data.view(torch.int32)
    total = 0
    for first in range(0, words.numel(), _WORDS_AT_ONCE):
        total += _mixed(words[first : first + _WORDS_AT_ONCE], first_word + first)
    return total & 0xFFFFFFFFFFFFFFFF


def statistics(tensor):
    """Over the finite elements: min, max, mean, abs_max; and the number of nan and inf."""
    values = tensor.detach().reshape(-1).to(torch.float64)
    nan = int(torch.isnan(values).sum().item())
    inf = int(torch.isinf(values).sum().item())
    if nan or inf:
        values = values[torch.isfinite(values)]
    if values.numel() == 0:
        return {"min": 0.0, "max": 0.0, "mean": 0.0, "abs_max": 0.0, "nan": nan, "inf": inf}
    low, high = values.min().item(), values.max().item()
    mean = values.mean().item()
    return {
        "min": low,
        "max": high,
        "mean": mean if math.isfinite(mean) else 0.0,
        "abs_max": max(abs(low), abs(high)),
        "nan": nan,
        "inf": inf,
    }


def raw_bytes(tensor):
    """The contiguous elements, little-endian, as safetensors and our traces have them."""
    data = tensor.detach().contiguous().reshape(-1).cpu()
    if data.numel() == 0:
        return b""
    return bytes(data.view(torch.uint8).untyped_storage())[
        data.storage_offset() * data.element_size() : (data.storage_offset() + data.numel())
        * data.element_size()
    ]


def can_be_read(tensor):
    """Not while something is being compiled or only its shape is computed."""
    return (
        isinstance(tensor, torch.Tensor)
        and tensor.device.type != "meta"
        and not torch.compiler.is_compiling()
        and type(tensor).__name__ not in ("FakeTensor", "FunctionalTensor")
    )
