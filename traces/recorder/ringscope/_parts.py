# SPDX-License-Identifier: Apache-2.0
"""A rank's part of a gradient or weight that FSDP2 cut: its place in the whole, and its summand in the hash of the
whole."""

import math

from ._pytorch import local_of
from ._hashing import dotsum64_of_part


def part_of(value):
    """Returns the fields of a DTensor of which this rank holds rows [begin, begin + local rows), or None. Supports
    DTensors that are cut along the first dimension over one axis of a mesh, as fully_shard makes them."""
    placements = getattr(value, "placements", ())
    axes = [axis for axis, placed in enumerate(placements) if not placed.is_replicate()]
    if len(axes) != 1 or type(placements[axes[0]]).__name__ != "Shard" or placements[axes[0]].dim != 0:
        return None
    mesh, axis = value.device_mesh, axes[0]
    at = list(mesh.get_coordinate())
    seat, at[axis] = at[axis], slice(None)
    ranks = mesh.mesh[tuple(at)].tolist()
    local, rows = local_of(value), value.shape[0]
    most = -(-rows // len(ranks))
    begin = min(seat * most, rows)
    if local.shape[0] != min(most, rows - begin) or local.shape[1:] != value.shape[1:]:
        return None
    digest = _share_of_hash(local, begin, rows)
    return {"of": list(value.shape), "begin": begin, "ranks": ranks, "hash": digest}


def ranks_of_parts(value):
    """Returns the number of ranks that hold different parts of a tensor."""
    placements = getattr(value, "placements", ())
    sizes = (value.device_mesh.size(axis) for axis, placed in enumerate(placements) if not placed.is_replicate())
    return math.prod(sizes)


def _share_of_hash(local, begin, rows):
    """Returns the part's summand in the hash, or None if two parts share half a word of the hash."""
    row_bytes = local.element_size() * local[:1].numel()
    first, end = begin * row_bytes, (begin + local.shape[0]) * row_bytes
    if first % 4 or (end % 4 and begin + local.shape[0] < rows):
        return None
    return f"{dotsum64_of_part(local, first):016x}"
