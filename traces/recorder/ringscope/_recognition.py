# SPDX-License-Identifier: Apache-2.0
"""Attention over shards that the job computes itself without annotations. It is a function with q, k and v that sends
one of them to other ranks."""

import math
import re
import sys

import torch

from ._layers import in_backward
from ._operators import tensors_in
from ._qkv_frames import arguments, computed_out, frames
from ._session import observer
from ._shapes import packed

KINDS = (  # of collectives and messages that move q, k or v
    "send",
    "receive",
    "all_gather",
    "all_to_all",
)
SUMS = ("all_reduce", "reduce_scatter")  # of gradients of gathered keys and values
_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _content(tensors):
    """Returns the number of elements and a sum that does not depend on their order."""
    total = sum(int(t.detach().contiguous().view(_WORDS[t.element_size()]).sum(dtype=torch.int64)) for t in tensors)
    return sum(t.numel() for t in tensors), total & (1 << 64) - 1


def _sum(*contents):
    return sum(c[0] for c in contents), sum(c[1] for c in contents) & (1 << 64) - 1


def _bundles(frame):
    """Returns the contents in which functions send q, k and v: alone or stacked."""
    q, k, v = (_content([x]) for x in (frame.q, frame.k, frame.v))
    return {q, k, v, _sum(k, v), _sum(q, k, v)}


def _is_sequence_first(q, shape, size):
    """Reports whether q can only be [S, B, H, D] of token ids [B, S], as in Megatron-LM."""
    batch, rows = shape if len(shape) == 2 else (0, 0)
    return any(q.shape[0] == extent != batch == q.shape[1] for extent in (rows, rows // size))


def _layout(q, k, shape, size):
    """Returns the layout of q and k, from their heads and the shape of the token ids; None if neither shows it."""
    ids = math.prod(shape) if shape else 0
    if q.dim() == 3:
        return "bshd" if ids and q.shape[0] in (ids, ids // size) else None
    if _is_sequence_first(q, shape, size):
        return "sbhd"
    if q.shape[1:3] != k.shape[1:3] and (q.shape[1] == k.shape[1]) != (q.shape[2] == k.shape[2]):
        return "bshd" if q.shape[1] == k.shape[1] else "bhsd"
    for tokens in (ids, ids // size):
        rows = [q.shape[0] * extent == tokens for extent in q.shape[1:3]]
        if tokens and rows[0] != rows[1]:
            return "bshd" if rows[0] else "bhsd"
    strides = q.stride()
    return "bhsd" if strides[1] < strides[2] else None


_SHAPES = ("View", "UnsafeView", "ReshapeAlias", "Reshape", "Transpose", "Permute", "Clone", "Contiguous", "T")
_PROJECTIONS = ("Mm", "Addmm", "Linear")


def _are_joined_heads(tensor):
    """Reports whether a tensor with the heads of each token joined is no projection of them, and has nothing added. Its
    operators tell, if autograd knows them."""
    node = tensor.grad_fn
    if node is None:
        return True
    names = []
    for _ in range(8):
        names.append(re.sub(r"Backward\d*$", "", node.name()))
        if names[-1] not in _SHAPES or not node.next_functions or node.next_functions[0][0] is None:
            break
        node = node.next_functions[0][0]
    return names[0] in _SHAPES and names[-1] not in _PROJECTIONS


class Recognition:
    def __init__(self, session, annotations):
        self.session = session
        self._annotations = annotations
        self._computed = None, None  # the attention that began with variables of a function, and the frame
        self._backwards = {}  # by ctx: its class, the forward and the places of q, k and v among the gradients
        self._step = -1
        self._told = False

    @property
    def computed(self):
        """The attention that began with variables of a function, or None."""
        return self._computed[0]

    def before(self, operator, args, process_group):
        """Begins an attention if a collective or message is the first within it. `process_group` returns its group."""
        call = self._annotations.current.call
        if call is not None and call.is_followed and not in_backward():
            self._annotations.end({})  # some input got no gradient
            call = None
        if call is not None and self._is_past(call):
            sys.setprofile(None)
            self._annotations.end({})
            call = None
        if operator.kind not in (*KINDS, *SUMS) or call is not None:
            return
        found = self.find(operator.kind, args, process_group)
        if found is None:
            return
        frame, begins, ended = found
        begins()
        call = self._annotations.current.call
        if call is not None:
            self._at_return(frame, lambda result: self._annotations.current.call is call and ended(result))

    @observer
    def _is_past(self, call):
        """Reports whether a function that computes several layers has another q by now."""
        begun, frame = self._computed
        if begun is not call:
            return False
        q = frame.frame.f_locals.get(frame.names[0])
        return q is not frame.q and getattr(q, "shape", None) == frame.q.shape and not torch.equal(q, frame.q)

    @observer
    def find(self, kind, args, process_group):
        """Returns the frame of the attention, a function that begins it, and a function for the frame's result."""
        running, backward = frames()
        if backward is not None:
            return self._backward(backward)
        if not running or kind in SUMS:
            return None
        sent = [_content(found) for found in map(tensors_in, args) if found]
        running = [frame for frame in running if self._sends(frame, kind, sent)]
        running = [frame for frame in running if frame.has_arguments] or running[-1:]
        if not running or sys.getprofile() is not None:
            return None
        frame = next((frame for frame in running if frame.ctx is not None), running[0])
        group = process_group()
        return None if group is None else self._forward(frame, running, group)

    @staticmethod
    def _sends(frame, kind, sent):
        bundles = _bundles(frame)
        if kind != "receive":
            return any(content in bundles for content in sent)
        sizes = {size for size, _ in bundles}
        return any(size in sizes for size, _ in sent)

    def _forward(self, frame, running, process_group):
        size = process_group.size()
        layout = _layout(frame.q, frame.k, self.session.token_shape, size)
        if size == 1:
            return None
        if layout is None:
            if not self._told:
                self._told = True
                name = frame.frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.frame.f_code.co_name
                why = f"attention over shards in {name}(): which dimension of q is that of tokens is not known"
                self.session.line("limit", why=why)
            return None
        q, k, v = map(packed, (frame.q, frame.k, frame.v))
        said = arguments(running)

        def begins():
            followed = {"q": frame.q, "k": frame.k, "v": frame.v} if frame.ctx is None else {}
            self._annotations.recognised(q, k, v, process_group, layout, said, followed)
            if self._annotations.current.call is not None and frame.ctx is not None:
                self._remember(frame)
            if not frame.has_arguments:
                self._computed = self._annotations.current.call, frame

        def ended(result):
            if not frame.has_arguments:
                self._computed = None, None
                return self._annotations.end({"out": computed_out(frame)})
            returned, turn = self._returned(result, q, layout)
            if returned is None:  # the function also projects what attention gives
                returned, turn = computed_out(frame), lambda t: t
            out = None if returned is None else turn(returned.detach())
            return self._annotations.end({"out": packed(out)}, (returned, turn))

        return frame.frame, begins, ended

    @staticmethod
    def _returned(result, q, layout):
        """Returns the tensor of a result that is out, and a function that gives it the layout of q; None for no tensor.
        Attention may return [B, S, H, D] for q as [B, H, S, D], as in Transformers, or the heads of a token joined."""
        ways = {q.shape: lambda t: t}
        if q.shape[0] == 1:
            ways.setdefault(q.shape[1:], lambda t: t)
        if layout == "bhsd":
            turned = (q.shape[0], q.shape[2], q.shape[1], q.shape[3])
            ways.setdefault(turned, lambda t: t.transpose(1, 2))
            joined = (*turned[:2], turned[2] * turned[3])
            ways.setdefault(joined, lambda t: t.unflatten(-1, turned[2:]).transpose(1, 2))
        elif q.dim() == 4:
            ways.setdefault((*q.shape[:2], q.shape[2] * q.shape[3]), lambda t: t.unflatten(-1, q.shape[2:]))
        for tensor in tensors_in(result):
            fits = tuple(tensor.shape) in ways and tensor.dtype == q.dtype
            if fits and (tensor.dim() != 3 or q.dim() == 3 or _are_joined_heads(tensor)):
                return tensor, ways[tuple(tensor.shape)]
        return None, None

    def _remember(self, frame):
        if self._step != self.session.step:
            self._backwards, self._step = {}, self.session.step
        ctx = frame.ctx
        self._backwards[id(ctx)] = (type(ctx), self._annotations.current.call, frame.places)

    def _backward(self, frame):
        """Returns what find() does, for the backward of a recognised forward."""
        ctx, gradients = frame.f_locals.get("self"), frame.f_locals.get("args")
        known, forward, places = self._backwards.get(id(ctx), (None, None, None))
        if known is not type(ctx) or not gradients or sys.getprofile() is not None:
            return None
        dout = packed(next((g for g in tensors_in(gradients) if g.dim() >= 3), None))
        if dout is None:
            return None

        def ended(result):
            result = result if isinstance(result, tuple) else ()
            given = [packed(result[at]) if at < len(result) else None for at in places]
            self._annotations.end(dict(zip(("dq", "dk", "dv"), given)))

        return frame, lambda: self._annotations.backward_of(forward, dout, False), ended

    def _at_return(self, frame, ended):
        """Calls ended(result) when a running function returns."""

        def event(at, what, result):
            if at is not frame or what != "return":
                return
            if sys.getprofile() is event:
                sys.setprofile(None)
            try:
                ended(result)
            except Exception as error:  # noqa: BLE001: the job must go on
                self.session.trouble("recognition", error)

        sys.setprofile(event)
