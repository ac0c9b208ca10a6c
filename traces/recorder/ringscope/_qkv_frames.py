# SPDX-License-Identifier: Apache-2.0
"""The functions of the job that are running and were given q, k and v, or computed them: attention, also if nothing
annotates it."""

import os
import re
import sys

import torch

from ._layers import is_module_call

_OWN = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
_MOST_FRAMES = 200
_NAMES = [
    re.compile(rf"(x|local_|my_)?({name})(_states|_layer|_heads|_local|_shard|s)?")
    for name in ("q|query|querie", "k|key", "v|value")
]
_WINDOWS = ("window_size", "window")
_MASKS = ("attn_mask", "attention_mask", "mask", "attn_bias", "bias", "alibi_slopes", "block_mask", "cu_seqlens",
          "cu_seqlens_q", "cu_seqlens_k", "segment_ids")  # fmt: skip
_SCALES = ("softmax_scale", "sm_scale", "scale")
_CAUSAL = ("causal", "is_causal")
_DROPOUT = ("dropout_p", "dropout")

_BACKWARD = torch.autograd.function.BackwardCFunction.apply.__code__
_known = {}  # of functions, by their code: the names of q, k and v, and whether all three are arguments


def _names_of(code):
    """Returns the names of q, k and v in a function of the job, and whether they are its arguments. Without such
    arguments, they are the names of its variables; (): it has none."""
    if code not in _known:
        count = code.co_argcount + code.co_kwonlyargcount
        _known[code] = (), False
        for names in (code.co_varnames[:count], code.co_varnames):
            found = [next(filter(name.fullmatch, names), None) for name in _NAMES]
            if None not in found and not code.co_filename.startswith(_OWN):
                _known[code] = tuple(found), len(names) == count
                break
    return _known[code]


def names_in(code):
    """Returns the names of the arguments q, k and v of a function of the job; (): it has no such arguments."""
    names, are_arguments = _names_of(code)
    return names if are_arguments else ()


def _fit(q, k, v):
    """Reports whether these are shards of q, k and v, or something else with these names."""
    if not all(type(x) in (torch.Tensor, torch.nn.Parameter) for x in (q, k, v)):
        return False
    return (
        q.dim() in (3, 4)
        and k.shape == v.shape
        and q.dim() == k.dim()
        and q.shape[-1] == k.shape[-1]
        and q.is_floating_point()
        and q.dtype == k.dtype == v.dtype
        and (q.dim() == 3 or q.shape[0] == k.shape[0])
        and q.numel() > 0
        and k.numel() > 0
    )


class Frame:
    """A running function with q, k and v. `ctx` is the context of an autograd.Function's forward."""

    def __init__(self, frame, q, k, v, given):
        self.frame = frame
        self.q, self.k, self.v = q, k, v
        code = frame.f_code
        self.names, self.has_arguments = _names_of(code)
        count = code.co_argcount + code.co_kwonlyargcount
        self.given = {name: given.get(name) for name in code.co_varnames[:count]}
        first = given.get(code.co_varnames[0]) if code.co_argcount else None
        self.ctx = first if isinstance(first, torch.autograd.function.FunctionCtx) else None
        # The places of q, k and v among the arguments of apply(), in whose order backward returns gradients.
        names = code.co_varnames[1 : code.co_argcount]
        own = self.names
        self.places = [names.index(name) for name in own] if self.ctx is not None and set(own) <= set(names) else []


def _rows(tensor):
    return tensor.detach().reshape(-1, tensor.shape[-1])


def computed_out(frame):
    """Returns the variable of a returning function that is out of its q, k and v: the only tensor with the shape of q.
    Returns None if there are several, or if q or k changed after they were sent, as a later rotary embedding does."""
    now = frame.frame.f_locals
    q, k = (now.get(name) for name in frame.names[:2])
    for before, after in ((frame.q, q), (frame.k, k)):
        if not isinstance(after, torch.Tensor) or after.shape[-1:] != before.shape[-1:]:
            return None
        # Gathered tensors have the rows of this rank too.
        if not (_rows(after) == _rows(before)[:1]).all(-1).any() or not (_rows(after) == _rows(before)[-1:]).all(-1).any():
            return None
    used = {t.untyped_storage().data_ptr() for t in (frame.q, frame.k, frame.v)}
    found = {}
    for tensor in now.values():
        if type(tensor) is torch.Tensor and tensor.shape == frame.q.shape and tensor.dtype == frame.q.dtype:
            found.setdefault(tensor.untyped_storage().data_ptr(), tensor)
    others = [tensor for storage, tensor in found.items() if storage not in used]
    return others[0] if len(others) == 1 else None


def frames():
    """Returns the running functions with q, k and v, the outermost first. Within the backward of an autograd.Function,
    returns the frame of PyTorch that runs it instead."""
    found, modules = [], 0
    at = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if at is None:
            break
        # Functions that backward calls have q, k and v too. A checkpoint recomputes within modules.
        if at.f_code is _BACKWARD and not modules:
            return [], at
        modules += is_module_call(at)
        names, _ = _names_of(at.f_code)
        if names:
            given = at.f_locals
            q, k, v = map(given.get, names)
            if _fit(q, k, v):
                found.append(Frame(at, q, k, v, given))
        at = at.f_back
    return found[::-1], None


def _first(frames, names, fits):
    for frame in frames:
        for name in names:
            value = frame.given.get(name)
            if fits(value):
                return value
    return None


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def arguments(frames):
    """Returns the fields of an attention's line that the arguments of its functions state."""
    causal = _first(frames, _CAUSAL, lambda value: isinstance(value, bool))
    said = {
        "causal": causal,
        "scale": _first(frames, _SCALES, lambda value: isinstance(value, float) and value > 0),
        "dropout": float(_first(frames, _DROPOUT, lambda value: _is_number(value) and 0 < value <= 1) or 0.0),
        "masked": _first(frames, _MASKS, lambda value: value is not None) is not None,
    }
    window = _first(frames, _WINDOWS, lambda value: value is not None)
    if isinstance(window, (tuple, list)) and len(window) == 2 and all(map(_is_number, window)):
        if window[0] >= 0 or (window[1] >= 0 and not causal):
            said["masked"] = True
            if causal or window[1] == 0:
                said["mask"] = {"kind": "window", "window": int(window[0]) + 1}
    elif window is not None and window is not False and not (_is_number(window) and window <= 0):
        said["masked"] = True
    return said
