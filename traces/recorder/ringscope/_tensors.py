# SPDX-License-Identifier: Apache-2.0
"""What is kept of a tensor beside its hash: statistics and, where the policy says so, its bytes."""

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
SUMMED_IN = {
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
    torch.int32: torch.float64,
    torch.int64: torch.float64,
}
_FEW = 32768


class quiet:
    """Within it nothing is recorded, differentiated, or seen by a mode of the user's. Nearly always there is
    nothing but autograd to be put aside, which takes a twentieth of the time."""

    def __enter__(self):
        self._differentiates = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        self._others = None
        if torch._C._len_torch_dispatch_stack() or torch.is_autocast_enabled("cpu"):
            self._others = contextlib.ExitStack()
            self._others.enter_context(_disable_current_modes())
            self._others.enter_context(torch.autocast("cpu", enabled=False))

    def __exit__(self, *_):
        if self._others is not None:
            self._others.close()
        torch._C._set_grad_enabled(self._differentiates)


def statistics(tensor):
    """Over the finite elements: min, max, mean, abs_max; and the number of nan and inf."""
    values = tensor.detach().reshape(-1)
    nan, inf = int(torch.isnan(values).sum()), int(torch.isinf(values).sum())
    if nan or inf:
        values = values[torch.isfinite(values)]
    low, high = map(float, extremes(values)) if values.numel() else (0.0, 0.0)
    return {
        "min": low,
        "max": high,
        "mean": _mean(values),
        "abs_max": max(abs(low), abs(high)),
        "nan": nan,
        "inf": inf,
    }


def extremes(values):
    """The smallest and the largest, as tensors of one element."""
    if values.numel() < _FEW:
        return torch.aminmax(values)
    return values.amin(), values.amax()  # quicker than both at once


def _mean(values):
    """In fp32 at least; in fp64 where that is too narrow."""
    if values.numel() == 0:
        return 0.0
    mean = values.sum(dtype=SUMMED_IN.get(values.dtype)).item() / values.numel()
    if not math.isfinite(mean):
        mean = values.sum(dtype=torch.float64).item() / values.numel()
    return mean if math.isfinite(mean) else 0.0


def raw_bytes(tensor):
    """The contiguous elements, little-endian, as safetensors and our traces have them."""
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    kept = bytearray(data.numel())
    if kept:
        torch.frombuffer(kept, dtype=torch.uint8).copy_(data)
    return kept


def can_be_read(tensor):
    """Not while something is being compiled or only its shape is computed."""
    kind = type(tensor)
    return (
        (kind is torch.Tensor or isinstance(tensor, torch.Tensor))
        and not tensor.is_meta
        and not torch.compiler.is_compiling()
        and kind.__name__ not in ("FakeTensor", "FunctionalTensor")
    )
