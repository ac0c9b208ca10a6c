# SPDX-License-Identifier: Apache-2.0
"""The operators that a recording observes: attention, collectives, messages, the loss and token embeddings."""

import torch
import torch.distributed as dist

from . import _flex
from ._flex_compiled import CompiledFlexGate
from ._collectives import CollectiveObserver
from ._inductor import InductorObserver
from ._operators import (
    Gate,
    Operator,
    attention_operators,
    collective_operators,
    decomposed_operators,
    tensors_in,
)
from ._plain import PlainAttention
from ._ring_compiled import CompiledRing
from ._tensors import can_be_read
from ._tracing import is_traced


class Watch:
    """A watch on these operators: records each call and passes it on."""

    def __init__(self, session, patches, ring, annotations, losses):
        self.session = session
        self.ring = ring
        self.annotations = annotations
        self.plain = PlainAttention(session)
        annotations.own_block = self.plain.own_block
        self.compiled = CompiledRing(session, ring, self._cannot)
        self.standing = self.gathered = None
        self.collectives = None
        self._losses, self.inductor = losses, InductorObserver(patches, self._cannot)
        self.looks, self.calls = losses.operators(), losses.calls()
        operators = [*attention_operators(), *map(Operator, self.looks), *decomposed_operators(self.calls)]
        if dist.is_available():
            self.collectives = CollectiveObserver(session, ring, annotations)
        self._gates = [Gate(operators, self.around)]
        self._meetings = Gate(collective_operators() if self.collectives else [], self.around)
        self._flex_calls = 0
        self._looked = False
        self._gates.append(CompiledFlexGate(self.around_compiled, patches, self._cannot))
        try:
            self._gates.append(_flex.FlexGate(self.around_flex))
        except (ImportError, AttributeError, KeyError) as error:
            self._cannot(f"this PyTorch's flex_attention is not known: {error}")

    def _cannot(self, why):
        self.session.line("limit", why=why[:300])

    def look(self, looks):
        """Starts or stops observing the operators. Operators in which ranks meet are observed further if the rank's
        progress is followed: all until a recorded step has ended, then those that methods of ProcessGroup do not post."""
        self.compiled.border()
        self.inductor.look(self._losses.compiled if looks else None)
        for gate in self._gates:
            gate.look(looks)
        counts = self.standing is not None
        self._meetings.look(looks or counts, self.standing.elsewhere if counts and self._looked and not looks else None)
        self._looked |= looks

    def end(self):
        """Stops observing all operators."""
        self.compiled.border()
        self.inductor.remove()
        for gate in (*self._gates, self._meetings):
            gate.look(False)

    def around_flex(self, operator, args, kwargs, run):
        self._flex_calls += 1
        return self.around(operator, args, kwargs, run)

    def around_compiled(self, operator, args, kwargs, run):
        """Records a compiled flex_attention. If a backend runs PyTorch's operator inside, that operator is recorded
        instead, because it has more details."""
        before = self._flex_calls

        def unless_seen():
            results = run()
            return results if self._flex_calls == before else None

        return self.around(operator, args, kwargs, unless_seen)

    def around(self, operator, args, kwargs, run):
        if is_traced():
            self.traced(operator, args, kwargs)
            return run()
        tensors = tensors_in(args)
        if self.session.inside.busy or not all(map(can_be_read, tensors)):
            return run()  # a tensor without data, because PyTorch only computes shapes, as for DTensors
        standing = self.standing
        is_loss = operator.func in self.looks or operator.func in self.calls
        if standing and operator.direction is None and not is_loss:
            return standing.around(
                operator, args, kwargs, tensors, lambda: self.seen(operator, args, kwargs, run)
            )
        return self.seen(operator, args, kwargs, run)

    def traced(self, operator, args, kwargs):
        """Names an operator that is traced for Inductor. Its tensors come here more than once; named are those of the
        job's own operators."""
        if type(args[0]).__name__ != "FunctionalTensor" or not self.session.running:
            return
        try:
            self._losses.traced(self.inductor, operator, args, kwargs)
        except Exception as error:  # noqa: BLE001: the job must go on
            self.session.trouble("traced", error)

    def seen(self, operator, args, kwargs, run):
        """Records an operator that was called with plain tensors."""
        if not self.session.active or (operator.is_followed and type(args[0]) is not torch.Tensor):
            return run()
        if operator.direction is not None:
            if self.ring.current.call is not None:
                return self.ring.block(operator, args, kwargs, run)
            record = self.collectives and self.collectives.takes(operator, args, kwargs)
            if record:
                return record(run)
            if self.annotations.current.call is not None:
                return self.annotations.operator(operator, args, kwargs, run)
            record = self.compiled.takes(operator, args, kwargs)
            if record:
                return record(run)
            record = self.gathered and self.gathered.takes(operator, args, kwargs)
            return record(run) if record else self.plain.call(operator, args, kwargs, run)
        if operator.func in self.calls:
            return self.calls[operator.func](args, kwargs, run)
        look = self.looks.get(operator.func)
        if look is None:
            return self.compiled.around(
                operator, args, lambda: self.collectives.call(operator, args, kwargs, run)
            )
        results = run()
        look(args, kwargs, results)
        return results
