# SPDX-License-Identifier: Apache-2.0
"""PyTorch's context parallelism of flex_attention: each rank gathers all keys and values, and attends them with its own
queries. It is recorded as attention over shards, with the rank's own keys and values."""

import importlib

import torch
import torch.distributed as dist

from ._exchanges import storage_of
from ._flex_mask import whole_mask_of
from ._pytorch import context_parallel_module
from ._session import observer


def heads_first(tensor, seq_dim):
    """Returns a view [B, H, S, D] of a tensor whose sequence is dimension 1 or 2."""
    return tensor.transpose(1, 2) if seq_dim == 1 else tensor


class _Gathered:
    """The keys and values that one attention has gathered."""

    def __init__(self, results, k, v, group, seq_dim):
        self.storage = storage_of(results[0])
        self.k, self.v = (heads_first(x, seq_dim) for x in (k, v))
        self.group, self.seq_dim = group, seq_dim
        self.needs_gradient = k.requires_grad or v.requires_grad


class GatheredAttention:
    def __init__(self, session, patches, annotations, buffers):
        self.session = session
        self._annotations = annotations
        self._buffers = buffers
        self._gathered = None
        self._forwards, self._step = {}, -1  # of this training step, by the memory of out
        self._waiting = None, None, 2  # a backward, its dq and the sequence's dimension, until dk and dv were summed
        self.gathers = False  # keys and values are being gathered
        ring = context_parallel_module()
        if ring is None or not hasattr(ring, "flex_cp_allgather"):
            return
        operators = importlib.import_module(ring.__name__.rpartition(".")[0] + "._cp_custom_ops")
        patches.wrap(ring, "flex_cp_allgather", self._around(self._came))
        patches.wrap(operators, "flex_cp_allgather_backward", self._around(self._summed))

    def _around(self, seen):
        def make(original):
            def gather(*args, **kwargs):
                self.gathers = True
                try:
                    results = original(*args, **kwargs)
                finally:
                    self.gathers = False
                if not torch.compiler.is_compiling():
                    seen(results, *args, **kwargs)
                return results

            return gather

        return make

    @observer
    def _came(self, results, k, v, seq_dim, pg_name):
        group = dist.distributed_c10d._resolve_process_group(pg_name)
        known = k.dim() == 4 and seq_dim % 4 in (1, 2)
        self._gathered = _Gathered(results, k, v, group, seq_dim % 4) if known and group.size() > 1 else None

    def _summed(self, results, *_, **__):
        call, dq, seq_dim = self._waiting
        self._waiting = None, None, 2
        if call is not None and self._annotations.current.call is call:
            dk, dv = (heads_first(x, seq_dim) for x in results[:2])
            self._annotations.end({"dq": dq, "dk": dk, "dv": dv})

    def takes(self, operator, args, kwargs):
        """Returns a function that records the operator, or None if its keys were not gathered."""
        if operator.name != "flex_attention":
            return None
        try:
            ended = (self._backward if operator.direction == "backward" else self._forward)(operator, args, kwargs)
        except Exception as error:  # noqa: BLE001: the job must go on
            self.session.trouble("gathered", error)
            return None
        if ended is None or self._annotations.current.call is None:
            return None
        return lambda run: self._run(ended, run)

    def _forward(self, operator, args, kwargs):
        said = self._said(operator, args, kwargs)
        if said is None:
            return None
        q, gathered, fields = said
        inputs = {"q": q, "k": gathered.k, "v": gathered.v}
        followed = inputs if operator.is_followed else {}
        self._annotations.recognised(*inputs.values(), gathered.group, "bhsd", fields, followed)
        call = self._annotations.current.call
        if call is None:
            return None
        call.shares_by = "all_gather"

        def ended(results):
            self._remember(results[0], call, gathered)
            self._annotations.end({"out": results[0], "lse": operator.lse_of(results)})

        return ended

    @observer
    def _said(self, operator, args, kwargs):
        """Returns q, what was gathered, and the fields of an attention's line."""
        gathered, self._gathered = self._gathered, None
        named = operator.named(args, kwargs)
        if gathered is None or gathered.storage != storage_of(named["key"]):
            return None
        q, k, blocks = named["query"], named["key"], named["block_mask"]
        given = operator.given(args, kwargs)
        rank = dist.get_rank(gathered.group)
        order = self._buffers.orders.get(k.size(2))
        function, more = operator.mask_function(blocks), named.get("mask_mod_other_buffers", ())
        flex = given["flex"]
        if flex["mask"]["kind"] != "full":
            flex["mask"] = {**flex["mask"], **whole_mask_of(function, more, q, k, rank, order)}
        kind = flex["mask"]["kind"]
        is_plain = kind in ("causal", "full") and flex["score"] is None
        fields = {
            "causal": kind == "causal" if is_plain else None,
            "scale": given.get("scale"),
            "dropout": 0.0,
            "masked": not is_plain,
            "mask": flex["mask"],
            "flex": flex,
        }
        return q, gathered, fields

    @observer
    def _remember(self, out, call, gathered):
        if self._step != self.session.step:
            self._forwards, self._step = {}, self.session.step
        self._forwards[out.data_ptr()] = call, gathered.needs_gradient, gathered.seq_dim

    def _backward(self, operator, args, kwargs):
        named = operator.named(args, kwargs)
        forward, needs_gradient, seq_dim = self._forwards.get(named["out"].data_ptr(), (None, False, 2))
        if forward is None or self._step != self.session.step:
            return None
        self._annotations.backward_of(forward, named["grad_out"], False)
        call = self._annotations.current.call

        def ended(results):
            if needs_gradient:
                self._waiting = call, results[0], seq_dim
            else:
                self._annotations.end({"dq": results[0]})

        return ended

    def _run(self, ended, run):
        results = None
        try:
            results = run()
        finally:
            if results is None:  # the operator failed, or one within was recorded already
                self._annotations.end({})
        if results is not None:
            try:
                ended(results)
            except Exception as error:  # noqa: BLE001: the job must go on
                self.session.trouble("gathered", error)
        return results
