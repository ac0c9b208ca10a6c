# SPDX-License-Identifier: Apache-2.0
"""Every operator that PyTorch dispatches while a recording lasts: attention, collectives, messages,
the loss and token embeddings are written down; all others only pass."""

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

from ._collectives import CollectiveObserver
from ._session import observer

_ATTENTION = (
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)


# These turn into plain operators and collectives, which come here again.
_DISTRIBUTED = ("DTensor", "AsyncCollectiveTensor")
_COLLECTIVES = ("c10d", "_c10d_functional")
_PLAIN = torch._C._disabled_torch_dispatch_impl


def _attention_operators():
    found = {}
    for name in _ATTENTION:
        for suffix, direction in (("", "forward"), ("_backward", "backward")):
            packet = getattr(torch.ops.aten, name + suffix, None)
            if packet is not None:
                found[packet.default] = direction
    return found


class Watch(TorchDispatchMode):
    """Looks at each operator and passes it on. What a tensor subclass does with it (a DTensor, a
    collective's result) is seen by the operators that it turns into."""

    def __init__(self, session, ring, annotations, losses):
        super().__init__()
        self.session = session
        self.ring = ring
        self.annotations = annotations
        self.plain = PlainAttention(session)
        self.attention = _attention_operators()
        self.collectives = None
        if dist.is_available():
            self.collectives = CollectiveObserver(session, ring, annotations)
        self.looks = losses.operators()
        self.attended_or_lost = {*self.attention, *self.looks}
        self.standing = None

    @classmethod
    def _should_skip_dynamo(cls):
        """Nothing is compiled within it, and asking that at each operator takes as long as all else."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if types:
            special = [kind for kind in types if kind.__torch_dispatch__ is not _PLAIN]
            if any(kind.__name__ in _DISTRIBUTED for kind in special):
                return NotImplemented
            if special:
                return func(*args, **(kwargs or {}))
        if func not in self.attended_or_lost and func.namespace not in _COLLECTIVES:
            return func(*args, **kwargs) if kwargs else func(*args)
        kwargs = kwargs or {}
        standing = self.standing
        if standing and func.namespace in _COLLECTIVES and not self.session.inside.busy:
            return standing.around(func, args, kwargs, lambda: self.seen(func, args, kwargs))
        return self.seen(func, args, kwargs)

    def seen(self, func, args, kwargs):
        """An operator on plain tensors."""
        if not self.session.active or self.session.inside.busy:
            return func(*args, **kwargs)
        if func in self.attention:
            run = lambda: func(*args, **kwargs)  # noqa: E731
            if self.ring.current.call is not None:
                return self.ring.block(func, args, kwargs, run)
            if self.annotations.current.call is not None:
                return self.annotations.operator(func, args, kwargs, run)
            return self.plain.call(self.attention[func], func, args, kwargs, run)
        if func in self.looks:
            results = func(*args, **kwargs)
            self.looks[func](args, kwargs, results)
            return results
        if self.collectives and func.namespace in _COLLECTIVES:
            return self.collectives.call(func, args, kwargs)
        return func(*args, **kwargs)


class PlainAttention:
    """Attention that neither PyTorch's ring computes nor the job says anything of."""

    def __init__(self, session):
        self.session = session
        self._calls = 0
        self._forwards = {}

    def call(self, direction, func, args, kwargs, run):
        begin_ns = self.session.now()
        results = run()
        self.seen(direction, func, args, kwargs, results, begin_ns, self.session.now())
        return results

    @observer
    def seen(self, direction, func, args, kwargs, results, begin_ns, end_ns):
        names = [argument.name for argument in func._schema.arguments]
        given = {**dict(zip(names, args)), **kwargs}
        self._calls += 1
        number = f"plain-{self._calls}"
        session = self.session
        layer, microbatch, forward = session.layer, max(session.microbatch, 0), number
        if direction == "backward":
            forward, layer, microbatch = self._forwards.get(
                given["out"].data_ptr(), (None, None, microbatch)
            )
        at = {"layer": layer, "microbatch": microbatch}
        if direction == "forward":
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
            direction=direction,
            **session.place(**at),
            operator=func.name(),
            causal=bool(given.get("is_causal", False)),
            scale=given.get("scale"),
            dropout=given.get("dropout_p", 0.0),
            masked=mask is not None,
            q_shape=list(given["query"].shape),
            k_shape=list(given["key"].shape),
            tensors={what: session.tensor(what, value, **at) for what, value in named.items()},
            begin_ns=begin_ns,
            end_ns=end_ns,
        )
