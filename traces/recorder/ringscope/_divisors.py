# SPDX-License-Identifier: Apache-2.0
"""Counts by which a rank divides what becomes its loss, such as the number of its own tokens."""

import math
from collections import deque

import torch

from ._loss_gradient import _PRODUCTS
from ._operators import tensors_in
from ._session import observer

_MOST_NODES, _MOST_QUOTIENTS, _MOST_DIVISORS = 400, 16, 64


def _count(number):
    """Returns the whole number that a divisor or the inverse of a factor is; None if it is none."""
    whole = round(number) if math.isfinite(number) else 0
    return whole if whole >= 1 and abs(number - whole) <= 1e-5 * whole else None


def _divisors(node):
    """Returns the counts by which a node of autograd's graph divides, and None if it divides by no counts."""
    name = node.name()
    if name == "MeanBackward0":
        return [node._saved_self_sym_numel]
    if name not in ("DivBackward0", "MulBackward0"):
        return None
    other = node._saved_other
    if other is None or not 0 < other.numel() <= _MOST_DIVISORS or other.requires_grad or other.is_complex():
        return None
    numbers = other.detach().reshape(-1).double()
    if name == "MulBackward0":
        if other.numel() > 1:
            return None
        numbers = 1 / numbers
    counts = [_count(number) for number in numbers.tolist()]
    return None if None in counts else counts


def _number_of(gradient):
    """Returns the one number that the elements of a gradient have which are not 0; None if they have several."""
    some = gradient[gradient != 0]
    if not some.numel():
        return 0.0
    least, most = some.min().item(), some.max().item()
    return most if most - least <= 1e-4 * abs(most) else None


def _gradients(gradient, count):
    """Returns what backward brings to the quotients of each divisor; None for those that get several numbers."""
    gradient = gradient.detach().double()
    if count == 1:
        return [_number_of(gradient)]
    if gradient.numel() == count:
        return gradient.reshape(-1).tolist()
    if gradient.shape[0] == count:
        return [_number_of(row) for row in gradient]
    return [None] * count


def _quotients(roots):
    """Yields the nodes that divide by counts, from the loss back to its logits, and the counts."""
    seen, queue, found = set(), deque(roots), 0
    while queue and len(seen) < _MOST_NODES and found < _MOST_QUOTIENTS:
        node = queue.popleft()
        if node in seen or node.name() in _PRODUCTS:
            continue
        seen.add(node)
        counts = _divisors(node)
        if counts is not None:
            found += 1
            yield node, counts
        queue.extend(before for before, _ in node.next_functions if before is not None)


class DivisorObserver:
    """An observer of divisions by counts between the logits and the loss. Autograd's graph shows them, and is walked when
    backward begins."""

    def __init__(self, session, losses):
        self.session = session
        self._losses = losses
        self._number = 0

    def around(self, original):
        """Returns torch.autograd.backward with a look at the graph before."""

        def backward(*args, **kwargs):
            self.look(args[0] if args else kwargs.get("tensors"))
            return original(*args, **kwargs)

        return backward

    @observer
    def look(self, roots):
        """Writes each quotient once backward has reached it."""
        hooked, self._losses.saves_hooked = self._losses.saves_hooked, False
        if hooked or not self.session.token_shape:
            return  # reading what a checkpoint saves would compute it again
        roots = [root.grad_fn for root in tensors_in([roots]) if root.grad_fn is not None]
        for node, counts in _quotients(roots):
            self._number += 1
            number = self._number
            node.register_prehook(lambda given, c=counts, n=number: self.came(n, c, given[0]))

    @observer
    def came(self, number, counts, gradient):
        gradients = [0.0] * len(counts) if gradient is None else _gradients(gradient, len(counts))
        tokens = math.prod(self.session.token_shape)
        place = self.session.place(layer=None)
        self.session.line("quotient", **place, tokens=tokens, number=number, counts=counts, gradients=gradients)
