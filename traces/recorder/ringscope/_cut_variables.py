# SPDX-License-Identifier: Apache-2.0
"""Variables of the job that are parts of others along the tokens, when backward begins. They tell in whose order a rank's
advantages, loss mask or old log-probabilities were cut."""

import os
import sys

import torch

from ._orders import orders
from ._session import observer

_OWN = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
_MOST_FRAMES, _MOST_TENSORS, _MOST_ELEMENTS = 64, 128, 1 << 20


def _named(values, depth):
    """Yields the names and tensors of variables, and of dicts among them."""
    for name, value in list(values.items()):
        if isinstance(value, torch.Tensor):
            yield str(name), value
        elif type(value) is dict and depth > 0:
            yield from _named(value, depth - 1)


def _variables():
    """Returns the tensors [B, S] without a gradient that running functions of the job have, each once."""
    found, at = {}, sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if at is None or len(found) > _MOST_TENSORS:
            break
        if not at.f_code.co_filename.startswith(_OWN):
            for name, tensor in _named(at.f_locals, 2):
                plain = type(tensor) is torch.Tensor and tensor.dim() == 2 and not tensor.requires_grad
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


class CutVariables:
    def __init__(self, session, annotations, patches):
        self.session = session
        self._annotations = annotations
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
        at, sharing = (self.session.step, self.session.microbatch), self._annotations.shared
        if self._seen == at or sharing is None or not self.session.token_shape:
            return
        self._seen = at
        group, rank, size = sharing
        width, variables = self.session.token_shape[-1], _variables()
        wholes = [(name, t) for name, t in variables if t.shape[1] - width * size in (0, 1)]
        for name, part in variables:
            if part.shape[1] != width:
                continue
            for of, whole in wholes:
                if whole.dtype == part.dtype and whole.shape[0] == part.shape[0]:
                    balances = _balances(part, whole, rank, size)
                    if balances:
                        self.session.line(
                            "cut_variable",
                            **self.session.place(layer=None),
                            name=name,
                            of=of,
                            group=group,
                            shape=list(part.shape),
                            balances=sorted(balances),
                        )
