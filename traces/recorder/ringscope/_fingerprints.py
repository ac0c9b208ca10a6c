# SPDX-License-Identifier: Apache-2.0
"""A few numbers of all gradients and weights of a training step, cheap enough for thousands of steps."""

import torch

from ._pytorch import local_of
from ._tensors import can_be_read

NAME = "all parameters"
_ELEMENTS = 4096  # number of elements per parameter, evenly spaced


def _is_part(value):
    return any(not placed.is_replicate() for placed in getattr(value, "placements", ()))


def _sample(value):
    flat = value.detach().reshape(-1)
    stride = max(1, flat.numel() // _ELEMENTS)
    return flat[::stride][:_ELEMENTS].to(torch.float32)


def fingerprint(values):
    """Returns one vector for all tensors that every rank holds whole: some elements of each tensor, and its 2-norm,
    which depends on all elements. Returns None if there is no such tensor. Sharded tensors are left out, because their
    parts differ between ranks."""
    whole = [local_of(value) for value in values if value is not None and not _is_part(value)]
    whole = [value for value in whole if can_be_read(value) and value.is_floating_point() and value.numel()]
    if not whole:
        return None
    norms = torch.stack([torch.linalg.vector_norm(value, dtype=torch.float32) for value in whole])
    return torch.cat([_sample(value) for value in whole] + [norms])
