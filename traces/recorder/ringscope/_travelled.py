# SPDX-License-Identifier: Apache-2.0
"""Attention of one share of the heads, whose q, k and v an all-to-all brought before it began (Ulysses). Functions that
exchange heads for tokens rarely know the names of what they send, so tensors are followed by their content."""

import itertools
import sys
from dataclasses import dataclass

import torch

from ._layers import in_backward
from ._operators import tensors_in
from ._orders import orders
from ._qkv_frames import frames
from ._session import observer
from ._shapes import LAYOUTS, heads_first, in_layout

_MOST_MOVES = 12  # that are remembered, so that a job's tensors are not kept for long
_INPUTS = ("q", "k", "v")


@dataclass
class _Move:
    """One all-to-all. Chunk i of `sent` goes to rank i of the group; chunk i of `came` came from it."""

    number: int
    group: object
    sent: list
    came: list


def _chunks(tensors, splits, size):
    """Returns what an all-to-all exchanges with each rank, or None if these are not equal shares."""
    if len(tensors) == 1 and not splits:
        whole = tensors[0]
        tensors = whole.chunk(size) if whole.dim() and whole.shape[0] % size == 0 else []
    elif len(tensors) == 1:
        tensors = tensors[0].split(list(splits))
    return list(tensors) if len(tensors) == size and len({t.shape for t in tensors}) == 1 else None


def _views(shape, elements):
    """Yields functions from a chunk to tensors of this shape. A chunk may hold q, k and v."""
    extents = list(shape)
    if elements == 3 * shape.numel():
        extents.append(3)
    elif elements != shape.numel():
        return
    for order in itertools.permutations(range(len(extents))):
        stored = [extents[at] for at in order]
        back = [order.index(at) for at in range(len(extents))]
        for part in range(3) if len(extents) == 5 else (None,):

            def view(chunk, stored=stored, back=back, part=part):
                whole = chunk.reshape(stored).permute(back)
                return whole if part is None else whole[..., part]

            yield view


def _found(chunks, whole):
    """Returns the balance and the view by which chunks make the gathered [B, H, S, D]; None if nothing does."""
    size, tokens = len(chunks), whole.shape[2]
    if tokens % size or chunks[0].numel() * size not in (whole.numel(), 3 * whole.numel()):
        return None
    for balance, order in orders(tokens, size):
        first = whole[:, :, order[0].to(whole.device)]
        for view in _views(first.shape, chunks[0].numel()):
            if not torch.equal(view(chunks[0]).to(whole.dtype), first):
                continue
            others = zip(chunks[1:], order[1:])
            if all(torch.equal(view(c).to(whole.dtype), whole[:, :, rows.to(whole.device)]) for c, rows in others):
                return balance, view
    return None


def _joined(chunks, view, dtype):
    """Returns a rank's [B, H, S, D] with all heads, of the chunks of each rank's heads."""
    return torch.cat([view(chunk) for chunk in chunks], 1).to(dtype)


class Travelled:
    """An observer of the all-to-alls around attention."""

    def __init__(self, session, annotations):
        self.session = session
        self._annotations = annotations
        self._moves, self._step = [], -1
        self._open = None  # the attention whose results have yet to travel
        self._is_adopted = False  # it began with the variables of a function, whose return would end it
        self._out = {}  # by name, [B, H, S, D] of this rank's heads and all tokens
        self._results = {}  # by name, those that arrived
        self._leaving = {}  # by name: the move and the view of a result on its way
        self._forwards = {}  # of this training step, by the memory of out: the attention

    def _is_open(self):
        return self._open is not None and self._annotations.current.call is self._open

    def before(self, kind):
        """Ends an attention whose results no longer travel. Begins one that the job computed by itself."""
        if self._is_open() and kind != "all_to_all":
            self._close()
        if kind == "all_to_all" and self._moves and self._annotations.current.call is None and not in_backward():
            found = self._find_computed()
            if found:
                self._begin(*found)
                self._open, self._is_adopted = self._annotations.current.call, False
                if self._open is not None:
                    self._open.shares_by = "ulysses"

    def posted(self, operator, number, args, given, results, group):
        """Remembers an all-to-all, and follows the results of attention in it."""
        if group is None or group.size() == 1:
            return
        size = group.size()
        if operator.namespace == "c10d":
            into, sent = tensors_in(args[0]), tensors_in(args[1])
        else:
            into, sent = tensors_in(results), tensors_in(args[0])
        splits = [given.get("output_split_sizes"), given.get("input_split_sizes")]
        sent, came = _chunks(sent, splits[1], size), _chunks(into, splits[0], size)
        if not sent or not came or not sent[0].is_floating_point():
            return
        move = _Move(number, group, sent, came)
        if self._is_open():
            return self._leaves(move)
        if self._step != self.session.step:
            self._moves, self._forwards, self._step = [], {}, self.session.step
        self._moves = [*self._moves, move][-_MOST_MOVES:]

    def waited(self, number, *_):
        """Ends an attention whose last result has arrived."""
        if self._is_open() and self._leaving and self._arrived(number):
            self._close()

    @observer
    def _arrived(self, number):
        """Takes the results that an all-to-all brought. Returns whether none is missing."""
        for name, (move, view) in list(self._leaving.items()):
            if number in (move.number, None):
                del self._leaving[name]
                self._results[name] = _joined(move.came, view, self._out[name].dtype)
        return set(self._results) == set(self._out)

    def _leaves(self, move):
        for name, whole in self._out.items():
            found = _found(move.sent, whole) if name not in self._results else None
            if found is not None:  # a functional collective is seen again as the one that it calls
                self._leaving[name] = move, found[1]

    def _close(self):
        if any(move.came[0].is_cuda for move, _ in self._leaving.values()):
            self._arrived(None)  # NCCL's results are there for whatever the stream does next
        results = {name: in_layout(t, self._open.layout) for name, t in self._results.items()}
        self._open, self._out, self._results, self._leaving = None, {}, {}, {}
        if self._is_adopted and results:
            sys.setprofile(None)
        if results or not self._is_adopted:
            self._annotations.end(results)

    def _local(self, named):
        """Returns this rank's tokens of tensors that came by all-to-alls, by name: [B, H, S, D] with all heads. Also returns
        the group, and the balance in whose order its ranks' tokens are. Returns None if a tensor did not come so."""
        local, known = {}, None
        for name, whole in named.items():
            for move in reversed(self._moves):
                balance, view = _found(move.came, whole) or (None, None)
                if view is not None and known in (None, (move.group, balance)):
                    local[name], known = _joined(move.sent, view, whole.dtype), (move.group, balance)
                    break
        return (local, *known) if len(local) == len(named) else None

    def takes(self, operator, args, kwargs, computed):
        """Returns a function that records this attention and runs it; None if its inputs did not travel. `computed` is the
        attention of a function whose variables are q, k and v: its results are followed."""
        if self._is_open():
            self._close()
        current = self._annotations.current.call
        if current is not None and current is computed and operator.direction == "forward":
            return lambda run: self._run(operator, args, kwargs, run, is_adopted=True)
        if not self._moves or current is not None:
            return None
        given = operator.given(args, kwargs)
        if operator.direction == "backward":
            return self._takes_backward(operator, args, kwargs, given)
        found = self._find(given["query"], given["key"], given["value"])
        if not found:
            return None

        def record(run):
            self._begin(*found)
            return self._run(operator, args, kwargs, run)

        return record

    def _run(self, operator, args, kwargs, run, is_adopted=False):
        """Runs the operator of an attention that has begun. Its results travel next."""
        call = self._annotations.current.call
        if call is None:
            return run()
        results = self._annotations.operator(operator, args, kwargs, run)
        if results is not None:
            self._open, self._is_adopted = call, is_adopted
            if operator.direction == "backward":
                self._out = dict(zip(("dq", "dk", "dv"), results))
            else:
                self._out = {"out": results[0]}
                self._forwards[results[0].data_ptr()] = call
        return results

    @observer
    def _find(self, q, k, v):
        unrepeated = self._unrepeated(q, k, v)
        return self._local(dict(zip(_INPUTS, unrepeated)))

    def _unrepeated(self, q, k, v):
        """Returns q, k and v as they came. A job may repeat the heads of k and v for those of q afterwards."""
        sizes = [move.came[0].numel() * len(move.came) for move in self._moves]
        for heads in range(1, k.shape[1]):
            if k.shape[1] % heads == 0 and k.numel() // k.shape[1] * heads in sizes:
                repeats = k.shape[1] // heads
                for pick in (slice(None, None, repeats), slice(None, heads)):
                    if self._local({"k": k[:, pick], "v": v[:, pick]}):
                        return q, k[:, pick], v[:, pick]
        return q, k, v

    def _begin(self, local, group, balance):
        said = {"causal": None, "scale": None, "dropout": 0.0, "masked": False, "order": balance}
        self._moves = []
        self._annotations.recognised(*(local[name] for name in _INPUTS), group, "bhsd", said, {})

    @observer
    def _find_computed(self):
        """Returns what _local() does for variables q, k and v of a running function."""
        for frame in frames()[0]:
            for layout in LAYOUTS if frame.q.dim() == 4 else ():
                whole = [heads_first(x, layout, name) for x, name in zip((frame.q, frame.k, frame.v), _INPUTS)]
                found = self._local(dict(zip(_INPUTS, whole)))
                if found:
                    return found
        return None

    def _takes_backward(self, operator, args, kwargs, given):
        call = self._forwards.get(given["out"].data_ptr())
        dout = given.get("grad_out", given.get("grad_out_"))
        local = self._find_gradient(dout) if call is not None else None
        if not local:
            return None

        def record(run):
            self._moves = []
            self._annotations.backward_of(call, in_layout(local[0]["dout"], call.layout), False)
            return self._run(operator, args, kwargs, run)

        return record

    @observer
    def _find_gradient(self, dout):
        return self._local({"dout": dout})
