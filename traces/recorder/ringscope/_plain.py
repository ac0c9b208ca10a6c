# SPDX-License-Identifier: Apache-2.0
"""Attention that neither PyTorch's ring computes nor an annotation describes."""

from ._exchanges import storage_of
from ._hashing import gridsum64
from ._session import observer
from ._following import follow
from ._attention_facts import mask_kind


class PlainAttention:
    def __init__(self, session):
        self.session = session
        self._calls = 0
        self._forwards = {}
        self.last = None, None, None, None  # number, layer, and memory and hash of the query of the last forward

    def own_block(self, q, heads_first):
        """Returns number and layer of the last forward if its query is that of an attention over shards, which attended
        its own block before it sent anything; otherwise None twice."""
        number, layer, storage, hashed = self.last
        same = number is not None and (storage == storage_of(q) or hashed == gridsum64(heads_first))
        return (number, layer) if same else (None, None)

    def call(self, operator, args, kwargs, run):
        begin_ns = self.session.now()
        results = run()
        if results is not None:  # otherwise an inner operator was recorded already
            self.seen(operator, args, kwargs, results, begin_ns, self.session.now())
        return results

    @observer
    def seen(self, operator, args, kwargs, results, begin_ns, end_ns):
        given = operator.given(args, kwargs)
        number = self._next()
        session = self.session
        layer, microbatch, forward = None, max(session.microbatch, 0), number
        if operator.direction == "backward":
            forward, layer, microbatch = self._forwards.get(
                given["out"].data_ptr(), (None, None, microbatch)
            )
        else:
            layer = session.find_layer(given["query"], session.collectives)
        at = {"layer": layer, "microbatch": microbatch}
        if operator.direction == "forward":
            self._forwards[results[0].data_ptr()] = (number, layer, microbatch)
            named = {"q": given["query"], "k": given["key"], "v": given["value"]}
            named.update(out=results[0], lse=operator.lse_of(results))
        else:
            grad = given.get("grad_out", given.get("grad_out_"))
            named = {"dout": grad, **dict(zip(("dq", "dk", "dv"), results))}
        mask = given.get("attn_mask", given.get("attn_bias"))
        said = {
            "operator": operator.full_name,
            "causal": bool(given.get("is_causal", False)),
            "scale": given.get("scale"),
            "dropout": given.get("dropout_p", 0.0),
            "masked": mask is not None,
            "mask": mask_kind(mask, given["query"], given["key"]),
            "q_shape": list(given["query"].shape),
            "k_shape": list(given["key"].shape),
            **operator.says(given),
        }
        self._write(number, forward, operator.direction, at, said, named, begin_ns, end_ns)
        if operator.direction == "forward":
            self.last = number, layer, storage_of(given["query"]), gridsum64(given["query"])
        if operator.is_followed:
            inputs = {what: named[what] for what in ("q", "k", "v")}
            self._follow(forward, at, said, inputs, results[0])

    def _follow(self, forward, at, said, inputs, out):
        """Records the backward that autograd runs with other operators, when its gradients have arrived."""
        came = {}

        def begins(dout):
            came.update(dout=dout, begin_ns=self.session.now())

        def ended(gradients):
            dout, begin_ns = came.pop("dout"), came.pop("begin_ns")
            self.backward(forward, at, said, {"dout": dout, **gradients}, begin_ns, self.session.now())

        follow(inputs, out, begins, ended)

    @observer
    def backward(self, forward, at, said, named, begin_ns, end_ns):
        self._write(self._next(), forward, "backward", at, said, named, begin_ns, end_ns)

    def _next(self):
        self._calls += 1
        return f"plain-{self._calls}"

    def _write(self, number, forward, direction, at, said, named, begin_ns, end_ns):
        self.session.line(
            "attention",
            call=number,
            forward_call=forward,
            direction=direction,
            **self.session.place(**at),
            **said,
            tensors=self.session.tensors(named, **at),
            begin_ns=begin_ns,
            end_ns=end_ns,
        )
