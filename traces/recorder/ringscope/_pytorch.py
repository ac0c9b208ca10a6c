# SPDX-License-Identifier: Apache-2.0
"""Where PyTorch keeps its context parallelism; the place moved between 2.6 and 2.11."""

import importlib

_HOMES = (
    "torch.distributed.tensor.experimental._context_parallel._attention",
    "torch.distributed.tensor.experimental._attention",
)


def context_parallel_module():
    """The module that holds PyTorch's ring, or None where this PyTorch has none."""
    for name in _HOMES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "_templated_ring_attention"):
            return module
    return None


def local_of(tensor):
    """The part of a DTensor that lies on this rank; a plain tensor itself."""
    return getattr(tensor, "_local_tensor", tensor)
