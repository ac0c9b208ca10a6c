# SPDX-License-Identifier: Apache-2.0
"""The operators that are written down while a recording lasts: attention, collectives, messages, the loss
and token embeddings."""

import torch.distributed as dist

from ._collectives import CollectiveObserver
from ._operators import Gate, Operator, attention_operators, collective_operators
from ._session import observer


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
        self.look = Gate(operators, self.around).look

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
        if not self.session.active:
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


class PlainAttention:
    """Attention that neither PyTorch's ring computes nor the job says anything of."""

    def __init__(self, session):
        self.session = session
        self._calls = 0
        self._forwards = {}

    def call(self, operator, args, kwargs, run):
        begin_ns = self.session.now()
        results = run()
        self.seen(operator, args, kwargs, results, begin_ns, self.session.now())
        return results

    @observer
    def seen(self, operator, args, kwargs, results, begin_ns, end_ns):
        given = operator.given(args, kwargs)
        self._calls += 1
        number = f"plain-{self._calls}"
        session = self.session
        layer, microbatch, forward = session.layer, max(session.microbatch, 0), number
        if operator.direction == "backward":
            forward, layer, microbatch = self._forwards.get(
                given["out"].data_ptr(), (None, None, microbatch)
            )
        at = {"layer": layer, "microbatch": microbatch}
        if operator.direction == "forward":
            self._forwards[results[0].data_ptr()] = (number, layer, microbatch)
            named = {"q": given["query"], "k": given["key"], "v": given["value"]}
            named.update(out=results[0], lse=results[1])
        else:
            grad = given.get("grad_out", given.get("grad_out_"))
            named = {"dout": grad, **dict(zip(("dq", "dk", "dv"), results))}
        mask = given.get("attn_mask", given.get("attn_bias"))
        session.line(
            "attention",
            call=number,
            forward_call=forward,
            direction=operator.direction,
            **session.place(**at),
            operator=operator.full_name,
            causal=bool(given.get("is_causal", False)),
            scale=given.get("scale"),
            dropout=given.get("dropout_p", 0.0),
            masked=mask is not None,
            q_shape=list(given["query"].shape),
            k_shape=list(given["key"].shape),
            tensors=session.tensors(named, **at),
            begin_ns=begin_ns,
            end_ns=end_ns,
        )
