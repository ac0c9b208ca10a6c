# SPDX-License-Identifier: Apache-2.0
"""Conversions of attention's tensors to the recording's layout: [B, H, S, D], and lse [B, H, S]."""

from ._harmless import described

LAYOUTS = ("bhsd", "bshd", "sbhd")


def check_layout(layout):
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise ValueError(f"layout={described(layout)} is unknown; known are {', '.join(LAYOUTS)}")


def heads_first(tensor, layout, what):
    if tensor is None:
        return None
    if tensor.dim() != 4:
        raise ValueError(f"{what} has {tensor.dim()} dimensions; it needs 4, as {layout} says")
    if layout == "sbhd":
        return tensor.permute(1, 2, 0, 3)
    return tensor.transpose(1, 2) if layout == "bshd" else tensor


def packed(tensor):
    """Returns [1, S, H, D] for packed tokens [S, H, D], and other tensors as they are."""
    return tensor.unsqueeze(0) if tensor is not None and tensor.dim() == 3 else tensor


def in_layout(tensor, layout):
    """Returns [B, H, S, D] in a layout."""
    if layout == "sbhd":
        return tensor.permute(2, 0, 1, 3)
    return tensor.transpose(1, 2) if layout == "bshd" else tensor


def lse_of(lse, out, what):
    """Returns lse as [B, H, S], for an out of shape [B, H, S, D]."""
    if lse is None or out is None:
        return None
    batch, heads, rows, _ = out.shape
    if lse.dim() == 4 and lse.shape[-1] == 1:
        lse = lse.squeeze(-1)
    if tuple(lse.shape) == (batch, heads, rows):
        return lse
    if tuple(lse.shape) == (batch, rows, heads):
        return lse.transpose(1, 2)
    raise ValueError(
        f"{what} has shape {list(lse.shape)}; it needs [{batch}, {heads}, {rows}], a number for "
        "each row of out"
    )
