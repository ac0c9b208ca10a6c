# SPDX-License-Identifier: Apache-2.0
"""Variables of the job that are parts of others along the tokens, when backward begins. They tell in whose order a rank's
advantages, loss mask or old log-probabilities were cut."""

import os
import sys

import torch

from ._orders import orders
from ._session import observer

_OWN = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
_MOST_FRAMES, _MOST_TENSORS, _MOST_ELEMENTS, _MOST_MASKS = 64, 128, 1 << 20, 4


def _named(values, depth):
    """Yields the names and tensors of variables, and of dicts among them."""
    for name, value in list(values.items()):
        if isinstance(value, torch.Tensor):
            yield str(name), value
        elif type(value) is dict and depth > 0:
            yield from _named(value, depth - 1)


def _variables():
    """Returns the tensors [B, S] and [B, S, D] without a gradient that running functions of the job have, each once."""
    found, at = {}, sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if at is None or len(found) > _MOST_TENSORS:
            break
        if not at.f_code.co_filename.startswith(_OWN):
            for name, tensor in _named(at.f_locals, 2):
                plain = type(tensor) is torch.Tensor and tensor.dim() in (2, 3) and not tensor.requires_grad
                if plain and 1 < tensor.numel() <= _MOST_ELEMENTS and not tensor.is_complex():
                    found.setdefault((tensor.data_ptr(), tensor.shape, tensor.stride()), (name, tensor))
        at = at.f_back
    return list(found.values())


def _balances(part, whole, rank, size):
    """Returns the balances by which a rank's part of `whole` is `part`. A target is one token later in its own whole."""
    tokens, found = part.shape[1] * size, set()
    for begin in range(whole.shape[1] - tokens + 1):
        sequence = whole[:, begin : begin + tokens]
        for balance, order in orders(tokens, size):
            if torch.equal(sequence[:, order[rank].to(whole.device)], part):
                found.add(balance)
    return found


def _rearranged(part, came, rank):
    """Yields balances A and B if a rank's part has other ranks' tokens of what was gathered. The ranks gathered their
    parts by A, and this part is cut from the sequence by B. The part that the rank gave itself has no such balances."""
    if torch.equal(part, came[rank]):
        return
    size, width = len(came), part.shape[1]
    for gathered_in, order in orders(width * size, size):
        whole = part.new_empty((part.shape[0], width * size, *part.shape[2:]))
        for tokens, own in zip(order, came):
            whole[:, tokens.to(whole.device)] = own
        for balance, other in orders(width * size, size):
            if balance != gathered_in and torch.equal(part, whole[:, other[rank].to(whole.device)]):
                yield gathered_in, balance


def _has_unit_deviation(values):
    """Reports whether values have the mean 0 and the deviation 1."""
    if not torch.isfinite(values).all() or abs(values.mean().item()) > 1e-4:
        return False
    deviates = (values.std().item(), values.std(correction=0).item())
    return min(abs(deviation - 1) for deviation in deviates) <= 2e-4


def _is_standard(values, mask):
    """Reports whether the values [B, S] under a mask have the mean 0 and the deviation 1 together. Values that are one per
    sequence do not count, and neither do rows that are standard each, as features are after a layer norm."""
    some = values[mask].double()
    if some.numel() < 8 or not _has_unit_deviation(some):
        return False
    rows = [row[kept].double() for row, kept in zip(values, mask) if kept.sum() > 1]
    if len(rows) > 1 and all(map(_has_unit_deviation, rows)):
        return False
    return any((row != row[0]).any() for row in rows)


def _masks(variables, shape):
    """Yields the names and masks of variables that mask tokens, after one that masks none."""
    yield "", None
    for name, tensor in variables:
        if tensor.shape == shape and (tensor.dtype == torch.bool or bool(((tensor == 0) | (tensor == 1)).all())):
            yield name, tensor.bool()


class CutVariables:
    def __init__(self, session, shared, patches, gathers):
        """`shared()` returns the group whose ranks share a sequence, this rank in it, and its size; or None."""
        self.session = session
        self._shared = shared
        self._gathers = gathers
        self._seen = None
        patches.wrap(torch.autograd, "backward", self._around)

    def _around(self, original):
        def backward(*args, **kwargs):
            self.look()
            return original(*args, **kwargs)

        return backward

    @observer
    def look(self):
        """Records the parts once for each microbatch."""
        at, sharing = (self.session.step, self.session.microbatch), self._shared()
        if self._seen == at or sharing is None or not self.session.token_shape:
            return
        self._seen = at
        group, rank, size = sharing
        width, variables = self.session.token_shape[-1], _variables()
        wholes = [(name, t) for name, t in variables if t.dim() == 2 and t.shape[1] - width * size in (0, 1)]
        for name, part in variables:
            if part.shape[1] != width:
                continue
            for of, whole in wholes:
                if part.dim() == 2 and whole.dtype == part.dtype and whole.shape[0] == part.shape[0]:
                    balances = _balances(part, whole, rank, size)
                    if balances:
                        self._write(name, of, group, part, sorted(balances))
            for came in self._gathers.of(part, size):
                for gathered_in, balance in _rearranged(part, came, rank):
                    self._write(name, f"gathered {gathered_in}", group, part, [balance], gathered_in=gathered_in)
        self._gathers.forget()
        self._find_standard(group, [(name, t) for name, t in variables if t.dim() == 2 and t.shape[1] == width])

    def _find_standard(self, group, parts):
        """Records the parts that a rank made standard by its own tokens alone."""
        masks = list(_masks(parts, parts[0][1].shape))[:_MOST_MASKS] if parts else []
        for name, part in parts:
            if not part.is_floating_point():
                continue
            for by, mask in masks:
                mask = torch.ones_like(part, dtype=torch.bool) if mask is None else mask
                if mask.shape == part.shape and _is_standard(part, mask):
                    place = self.session.place(layer=None)
                    self.session.line("standardized", **place, name=name, mask=by, group=group, count=int(mask.sum()))
                    break

    def _write(self, name, of, group, part, balances, **more):
        place = self.session.place(layer=None)
        shape = list(part.shape)
        self.session.line("cut_variable", **place, name=name, of=of, group=group, shape=shape, balances=balances, **more)
