# SPDX-License-Identifier: Apache-2.0
"""Collectives and messages, as c10d's dispatcher sees them from any caller."""

import torch.distributed as dist

from ._gathered_values import GatheredValues
from ._operators import tensors_in
from ._partial_merges import PartialMerges
from ._recognition import KINDS, Recognition
from ._session import observer
from ._travelled import Travelled

# The operators with which DDP and FSDP sum gradients during backward: many gradients in one buffer without names.
_OF_WRAPPERS = ("allreduce_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_")


class CollectiveObserver:
    def __init__(self, session, ring, annotations):
        self.session = session
        self.ring = ring
        self.annotations = annotations
        self.recognition = Recognition(session, annotations)
        self.travelled = Travelled(session, annotations)
        self.gathered_values = GatheredValues(session)
        self.partial_merges = PartialMerges(session)
        self.gradient_name = lambda tensor: None
        self.clipped_names = frozenset()  # names of gradients that were clipped in this training step
        self.wrappers = lambda: []
        self.gathers = lambda: False  # PyTorch gathers keys and values, which GatheredAttention records
        self.number = 0
        self.largest_message = 0  # bytes, outside of attention, since Convolutions cleared it
        self._waited = {}

    def call(self, operator, args, kwargs, run):
        begin_ns = self.session.now()
        if operator.name == "wait_tensor":
            result = run()
            self.travelled.waited(self.waited(args[0], begin_ns))
            return result
        if self.ring.current.call is None and not self.gathers():
            self.travelled.before(operator.kind)
            self.recognition.before(operator, args, lambda: self._process_group(operator.given(args, kwargs)))
        line = self.posted(operator, args, kwargs)
        results = run()
        self.started(line, results, begin_ns)
        if operator.kind == "all_to_all" and line:
            self.exchanged(operator, line["number"], args, kwargs, results)
        if operator.kind == "all_gather" and line and line.get("call") is None:
            self.keeps(operator, args, kwargs, results)
        if operator.kind in ("send", "receive") and line and self.annotations.current.call is not None:
            self.annotations.message(line, next(iter(tensors_in(args)), None))
        return results

    def takes(self, operator, args, kwargs):
        """Returns a function that records attention whose inputs came from other ranks; None for other attention."""
        return self.travelled.takes(operator, args, kwargs, self.recognition.computed)

    @observer
    def keeps(self, operator, args, kwargs, results):
        group = self._process_group(operator.given(args, kwargs))
        size = group.size() if group is not None else 1
        self.gathered_values.posted(operator, args, results, size)
        if size > 1:
            self.partial_merges.gathered(operator, args, results, group)

    @observer
    def exchanged(self, operator, number, args, kwargs, results):
        given = operator.given(args, kwargs)
        self.travelled.posted(operator, number, args, given, results, self._process_group(given))

    @observer
    def posted(self, operator, args, kwargs):
        given, kind = operator.given(args, kwargs), operator.kind
        self.number += 1
        self.session.collectives = self.number
        tensors = tensors_in(args)
        line = {
            "number": self.number,
            "operator": kind,
            "as": operator.name,
            **self.session.place(),
            "group": self._group(given),
            "bytes": max((t.numel() * t.element_size() for t in tensors), default=0),
            "reduce": self._reduction(given),
            "gradients": [],
        }
        call = self.ring.current.call or self.annotations.current.call
        if call is not None and kind == "all_reduce" and getattr(call, "is_followed", False):
            call = None  # a sum of gradients during backward
        if getattr(call, "is_recognised", False) and kind in KINDS:
            call.communicates(self._process_group(given), line["group"])
        if call is not None:
            line.update(call=call.number, **call.place())
        else:
            if kind in KINDS and line["pass"] == "forward":
                self.largest_message = max(self.largest_message, line["bytes"])
            line["gradients"] = self._gradients(tensors)
            if operator.name in _OF_WRAPPERS and line["pass"] == "backward" and self.wrappers():
                line["sums_for"] = self.wrappers()[0]
        for peer in ("dst", "src"):
            if kind in ("send", "receive") and peer in given:
                line["peer"] = self._world_rank(given, int(given[peer]))
        if len(tensors) and kind == "all_reduce" and tensors[0].numel() == 1:
            line["value"] = float(tensors[0].item())
        return line

    def _process_group(self, given):
        group = given.get("process_group", given.get("group_name"))
        if isinstance(group, str):
            return dist.distributed_c10d._resolve_process_group(group)
        if group is not None and not isinstance(group, dist.ProcessGroup):
            return dist.ProcessGroup.unbox(group)
        return group

    def _group(self, given):
        group = self._process_group(given)
        return self.session.group(group) if group is not None else None

    def _world_rank(self, given, peer):
        """Converts a peer's rank in the operator's group to its world rank."""
        group = self._process_group(given)
        return peer if group is None else dist.get_process_group_ranks(group)[peer]

    def _reduction(self, given):
        how = given.get("reduce_op")
        if how is None or isinstance(how, str):
            return how
        try:
            return str(dist.ReduceOp.unbox(how).op).rsplit(".", 1)[-1].lower()
        except (AttributeError, RuntimeError, TypeError):
            return None

    def _gradients(self, tensors):
        """Returns the names of gradients that are about to be summed. Records each gradient that was clipped before its
        sum, because such a gradient is not the gradient of the whole loss."""
        names = []
        for tensor in tensors:
            name = self.gradient_name(tensor) if tensor.numel() else None
            if name in self.clipped_names:
                self.session.passes("grad_before_sync", tensor, name=name, layer=None)
            if name is not None:
                names.append(name)
        return names

    @observer
    def started(self, line, results, begin_ns):
        if line is None:
            return
        line.update(begin_ns=begin_ns, posted_ns=self.session.now())
        if line["as"] in ("send", "recv_") or not tensors_in(results):
            return self.session.line("collective", **line)
        for tensor in tensors_in(results):
            self._waited[tensor.data_ptr()] = line["number"]
        self.session.line("collective", **line)

    @observer
    def waited(self, tensor, begin_ns):
        number = self._waited.pop(tensor.data_ptr(), None)
        if number is not None:
            self.session.line("waited", number=number, begin_ns=begin_ns, end_ns=self.session.now())
        return number
