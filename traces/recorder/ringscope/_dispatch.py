# SPDX-License-Identifier: Apache-2.0
"""The operators that are written down while a recording lasts: attention, collectives, messages, the loss
and token embeddings."""

import torch
import torch.distributed as dist

from . import _flex
from ._collectives import CollectiveObserver
from ._operators import Gate, Operator, attention_operators, collective_operators
from ._plain import PlainAttention


class Watch:
    """Looks at each of these operators and passes it on."""

    def __init__(self, session, ring, annotations, losses):
        self.session = session
        self.ring = ring
        self.annotations = annotations
        self.plain = PlainAttention(session)
        self.standing = None
        self.collectives = None
        self.looks = losses.operators()
        operators = [*attention_operators(), *map(Operator, self.looks)]
        if dist.is_available():
            self.collectives = CollectiveObserver(session, ring, annotations)
            operators += collective_operators()
        self._gates = [Gate(operators, self.around)]
        self._said_compiled = False
        try:
            self._gates.append(_flex.FlexGate(self.around))
        except (ImportError, AttributeError, KeyError) as error:
            session.line("limit", why=f"this PyTorch's flex_attention is not known: {error}"[:300])

    def look(self, looks):
        """Whether they are looked at from now on."""
        for gate in self._gates:
            gate.look(looks)
        if not looks and not self._said_compiled and _flex.is_compiled():
            self._said_compiled = True
            self.session.line("limit", why="flex_attention is compiled: calls of what came of it are not observed")

    def around(self, operator, args, kwargs, run):
        if self.session.inside.busy:
            return run()
        standing = self.standing
        if standing and operator.direction is None and operator.func not in self.looks:
            return standing.around(
                operator, args, kwargs, lambda: self.seen(operator, args, kwargs, run)
            )
        return self.seen(operator, args, kwargs, run)

    def seen(self, operator, args, kwargs, run):
        """An operator on plain tensors."""
        if not self.session.active or (operator.is_math and type(args[0]) is not torch.Tensor):
            return run()
        if operator.direction is not None:
            if self.ring.current.call is not None:
                return self.ring.block(operator, args, kwargs, run)
            if self.annotations.current.call is not None:
                return self.annotations.operator(operator, args, kwargs, run)
            return self.plain.call(operator, args, kwargs, run)
        look = self.looks.get(operator.func)
        if look is None:
            return self.collectives.call(operator, args, kwargs, run)
        results = run()
        look(args, kwargs, results)
        return results
