# SPDX-License-Identifier: Apache-2.0
"""The data of a tensor that is kept besides its hash: statistics and, if the policy allows, its bytes."""

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
    """A guard within which nothing is recorded, differentiated or seen by a user's mode. Usually only autograd must be
    switched off, which takes a twentieth of the time."""

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
    """Returns min, max, mean and abs_max of the finite elements, and the numbers of NaN and infinite elements."""
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
    """Returns the smallest and the largest element, as tensors of one element."""
    if values.numel() < _FEW:
        return torch.aminmax(values)
    return values.amin(), values.amax()  # faster than aminmax for large tensors


def _mean(values):
    """Returns the mean, summed in at least fp32, and in fp64 if that overflows."""
    if values.numel() == 0:
        return 0.0
    mean = values.sum(dtype=SUMMED_IN.get(values.dtype)).item() / values.numel()
    if not math.isfinite(mean):
        mean = values.sum(dtype=torch.float64).item() / values.numel()
    return mean if math.isfinite(mean) else 0.0


def raw_bytes(tensor):
    """Returns the bytes of the contiguous elements, little-endian, as in safetensors and RingScope's traces."""
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    kept = bytearray(data.numel())
    if kept:
        torch.frombuffer(kept, dtype=torch.uint8).copy_(data)
    return kept


def can_be_read(tensor):
    """Reports whether a tensor has values. It has none during compilation or shape propagation, or if the job has
    released its storage."""
    kind = type(tensor)
    return (
        (kind is torch.Tensor or isinstance(tensor, torch.Tensor))
        and not tensor.is_meta
        and not torch.compiler.is_compiling()
        and kind.__name__ not in ("FakeTensor", "FunctionalTensor")
        and (kind not in _PLAIN or _is_stored(tensor))
    )


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def has_values(tensor):
    """Reports whether a tensor that the job gave, or the local part of a DTensor, can be read."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    if not isinstance(tensor, torch.Tensor) or tensor.is_quantized or tensor.is_nested:
        return False
    return tensor.layout is torch.strided and can_be_read(tensor)


def _is_stored(tensor):
    """Reports whether the storage contains all elements. Reading others would end the process."""
    try:
        stored, size = tensor.untyped_storage().nbytes(), tensor.element_size()
    except (RuntimeError, NotImplementedError):  # it has no storage: sparse
        return False
    if stored >= (tensor.storage_offset() + tensor.numel()) * size or not tensor.numel():
        return True
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
    return stored >= (tensor.storage_offset() + last + 1) * size
