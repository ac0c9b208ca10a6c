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

_OF_WHOLE = "local_q_idx_to_q_idx"  # PyTorch's function from a rank's rows to rows of all ranks
_MOST_WHOLE = 8

_whole = {}  # by function, sizes and order: the function, and its mask of the whole sequence
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


def whole_mask_of(function, buffers, q, k, rank, order):
    """Returns the mask of attention over shards as mask_of() does: all tokens of the sequence in their order. A rank
    attends its rows q of the keys k, which are all ranks' keys one after the other. `order` has their token ids.
    Unknown if `order` is None, or if PyTorch did not make the function from one of the whole sequence."""
    length = k.size(2)
    if order is None or not _is_of_whole_sequence(function) or length % q.size(2):
        return dict(_UNKNOWN)
    sizes = (*_batch_and_heads(function, q), length, length)
    if torch.Size(sizes).numel() > _MOST_PAIRS:
        return dict(_UNKNOWN)
    try:
        key = (getattr(function, "code", id(function)), sizes, rank, gridsum64(order), *_contents(buffers))
        if key not in _whole:
            while len(_whole) >= _MOST_WHOLE:
                _whole.pop(next(iter(_whole)))
            _whole[key] = function, _kind_of(_whole_pairs(function, buffers, sizes, rank * q.size(2), order.to(q.device)))
        return dict(_whole[key][1])
    except Exception:  # noqa: BLE001: a function of the job's, which may need what it has only in its kernel
        return dict(_UNKNOWN)


def _whole_pairs(function, buffers, sizes, first, order):
    """Returns the allowed pairs of all tokens in their order. `first` is the row of all ranks' rows with which the
    function begins."""
    held = _pairs(lambda b, h, row, key, *more: function(b, h, row - first, key, *more), buffers, sizes, order.device)
    places = torch.argsort(order)
    return held[..., places[:, None], places[None]]


def _is_of_whole_sequence(function):
    """Reports whether PyTorch made the mask of a rank's rows from a mask of all tokens. Then it is defined for all
    ranks' rows."""
    if not isinstance(function, torch.fx.GraphModule):
        return "_rewrite_mask_mod" in getattr(function, "__qualname__", "")
    traces = (node.meta.get("stack_trace") or "" for node in function.graph.nodes)
    return any(f", in {_OF_WHOLE}" in trace for trace in traces)


def _contents(buffers):
    return (gridsum64(b.to(torch.float64)) if torch.is_tensor(b) else b for b in buffers)


def _asked(function, buffers, sizes, device, owner):
    """Evaluates a mask, or returns the cached result for `owner`."""
    if torch.Size(sizes).numel() > _MOST_PAIRS:
        return dict(_UNKNOWN)
    try:
        known = _known.setdefault(owner, {})
        key = (sizes, *_contents(buffers))
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
