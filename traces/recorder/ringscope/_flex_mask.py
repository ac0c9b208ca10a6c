# SPDX-License-Identifier: Apache-2.0
"""The name of a mask or score function of flex_attention, and the pairs of rows and keys that a mask allows."""

import re
import weakref

import torch

from ._hashing import gridsum64

_MOST_PAIRS = 1 << 24  # limit of evaluating a mask; above it, its pairs are unknown
_FRAME = re.compile(r'File "[^"]*", line \d+, in (.+)')
_CALLER = "_flex_attention_hop_wrapper"
_JOINED = ("and_mask", "or_mask")  # functions of PyTorch that combine other masks
_UNKNOWN = {"kind": None, "attended": None}

_known = weakref.WeakKeyDictionary()  # by traced mask or BlockMask


def called(function):
    """Returns the name of a mask or score function, or of the function from which it was traced. For PyTorch's
    and_masks() and or_masks(), adds the names of the combined functions. Returns None for an unknown name."""
    if not isinstance(function, torch.fx.GraphModule):
        return getattr(function, "__name__", None)
    outer, inner = None, []
    for node in function.graph.nodes:
        frames = _FRAME.findall(node.meta.get("stack_trace") or "")
        within = frames[frames.index(_CALLER) + 1 :] if _CALLER in frames else []
        outer = outer or next(iter(within), None)
        inner += [name for name in within[1:2] if name not in inner]
    return f"{outer}({', '.join(inner)})" if outer in _JOINED and inner else outer


def changes_scores(function):
    """Reports whether the function returns other scores than it got."""
    if not isinstance(function, torch.fx.GraphModule):
        return getattr(function, "__name__", None) != "_identity"
    nodes = list(function.graph.nodes)
    returned = nodes[-1].args[0]
    return (returned[0] if isinstance(returned, tuple) else returned) is not nodes[0]


def mask_of(function, buffers, q, k):
    """Returns the mask of q, [B, H, S, D], and k as a dict. "kind" is causal, full, window (then "window" is the number
    of keys that a query sees, including its own), other, or None if unknown. "attended" is the share of allowed pairs.
    `buffers` are the mask's inputs besides the indices."""
    return _asked(function, buffers, (*_batch_and_heads(function, q), q.size(2), k.size(2)), q.device, function)


def mask_of_blocks(blocks, q, k):
    """Returns the mask of a BlockMask or None, before anything is traced. Its function may read any variable, so each
    BlockMask is evaluated separately."""
    if blocks is None:
        return {"kind": "full", "attended": 1.0}
    sizes = (*blocks.kv_num_blocks.shape[:2], q.size(2), k.size(2))
    return _asked(blocks.mask_mod, (), sizes, q.device, blocks)


def _asked(function, buffers, sizes, device, owner):
    """Evaluates a mask, or returns the cached result for `owner`."""
    if torch.Size(sizes).numel() > _MOST_PAIRS:
        return dict(_UNKNOWN)
    try:
        known = _known.setdefault(owner, {})
        key = (sizes, *(gridsum64(b.to(torch.float64)) if torch.is_tensor(b) else b for b in buffers))
        if key not in known:
            known[key] = _kind_of(_pairs(function, buffers, sizes, device))
        return dict(known[key])
    except Exception:  # noqa: BLE001: a function of the job's, which may need what it has only in its kernel
        return dict(_UNKNOWN)


def _batch_and_heads(function, q):
    """Returns the batch and head sizes; 1 for an index that the mask does not use."""
    if not isinstance(function, torch.fx.GraphModule):
        return q.size(0), q.size(1)
    asked = [bool(node.users) for node in function.graph.nodes][:2]
    return [size if used else 1 for size, used in zip(q.shape, asked)]


def _pairs(function, buffers, sizes, device):
    """Returns the allowed pairs: bool, [B, H, rows, keys]."""
    from torch.nn.attention.flex_attention import create_mask

    return create_mask(lambda b, h, row, key: function(b, h, row, key, *buffers), *sizes, device=device)


def _kind_of(pairs):
    attended = int(pairs.sum()) / pairs.numel()
    if attended == 1.0:
        return {"kind": "full", "attended": attended}
    rows, keys = pairs.shape[-2:]
    if rows == keys:
        at = torch.arange(rows, device=pairs.device)
        distance = at[:, None] - at[None]
        if bool((pairs == (distance >= 0)).all()):
            return {"kind": "causal", "attended": attended}
        window = int(pairs[0, 0, -1].sum())
        if bool((pairs == ((distance >= 0) & (distance < window))).all()):
            return {"kind": "window", "window": window, "attended": attended}
    documents = _documents(pairs) if rows == keys else []
    if documents:
        return {"kind": "documents", "documents": documents, "attended": attended}
    return {"kind": "other", "attended": attended}


def _documents(pairs):
    """Returns the runs [begin, end) of a mask that is causal within runs of tokens; empty if it is another mask."""
    size = pairs.shape[-1]
    first = pairs[0, 0].int().argmax(-1)  # the first key that each query attends
    at = torch.arange(size, device=pairs.device)
    within = (at[:, None] >= at[None]) & (at[None] >= first[:, None])
    begins = torch.unique(first).tolist()
    if not bool((pairs == within).all()) or not bool((first[begins] == first.new_tensor(begins)).all()):
        return []
    return [[begin, end] for begin, end in zip(begins, [*begins[1:], size])]
