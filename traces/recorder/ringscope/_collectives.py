# SPDX-License-Identifier: Apache-2.0
"""Collectives and messages, as c10d's dispatcher sees them whoever asked for them."""

import torch
import torch.distributed as dist

from ._session import observer

# Of a c10d operator: what it is called in a recording.
_KINDS = (
    ("allreduce", "all_reduce"),
    ("all_reduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("all_gather", "all_gather"),
    ("reduce_scatter", "reduce_scatter"),
    ("alltoall", "all_to_all"),
    ("all_to_all", "all_to_all"),
    ("broadcast", "broadcast"),
    ("scatter", "scatter"),
    ("gather", "gather"),
    ("reduce", "reduce"),
    ("barrier", "barrier"),
    ("send", "send"),
    ("recv", "receive"),
)

# With what DDP and FSDP sum gradients while backward runs, many in one buffer without names.
_OF_WRAPPERS = ("allreduce_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_")


def kind_of(name):
    """What a c10d operator is called in a recording; None: it is none that ranks meet in."""
    plain = name.lstrip("_")
    return next((kind for begin, kind in _KINDS if plain.startswith(begin)), None)


def tensors_in(value):
    """Those in lists and tuples, however deep."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


class CollectiveObserver:
    def __init__(self, session, ring, annotations):
        self.session = session
        self.ring = ring
        self.annotations = annotations
        self.gradient_names = lambda: {}
        self.wrappers = lambda: []
        self.number = 0
        self._waited = {}

    def call(self, func, args, kwargs):
        name = func._schema.name.split("::")[1]
        if name == "wait_tensor":
            begin_ns = self.session.now()
            result = func(*args, **kwargs)
            self.waited(args[0], begin_ns)
            return result
        kind = kind_of(name)
        if kind is None:
            return func(*args, **kwargs)
        begin_ns = self.session.now()
        line = self.posted(kind, name, func, args, kwargs)
        results = func(*args, **kwargs)
        self.started(line, results, begin_ns)
        if kind in ("send", "receive") and line and self.annotations.current.call is not None:
            self.annotations.message(line, next(tensors_in(list(args))))
        return results

    @observer
    def posted(self, kind, name, func, args, kwargs):
        names = [argument.name for argument in func._schema.arguments]
        given = {**dict(zip(names, args)), **kwargs}
        self.number += 1
        tensors = list(tensors_in(list(args)))
        line = {
            "number": self.number,
            "operator": kind,
            "as": name,
            **self.session.place(),
            "group": self._group(given),
            "bytes": max((t.numel() * t.element_size() for t in tensors), default=0),
            "reduce": self._reduction(given),
            "gradients": self._gradients(tensors),
        }
        call = self.ring.current.call or self.annotations.current.call
        if call is not None:
            line.update(call=call.number, **call.place())
        elif name in _OF_WRAPPERS and line["pass"] == "backward" and self.wrappers():
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
        """Operators name a peer by its rank in their group."""
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
        """Records gradients as they are before they are summed; returns their names."""
        if not tensors:
            return []
        known = self.gradient_names()
        names = []
        for tensor in tensors:
            name = known.get(tensor.data_ptr())
            if name is None or tensor.numel() == 0:
                continue
            self.session.tensor("grad_before_sync", tensor, name=name, keep=False, layer=None)
            names.append(name)
        return names

    @observer
    def started(self, line, results, begin_ns):
        if line is None:
            return
        line.update(begin_ns=begin_ns, posted_ns=self.session.now())
        if line["as"] in ("send", "recv_") or not list(tensors_in(results)):
            return self.session.line("collective", **line)
        for tensor in tensors_in(results):
            self._waited[tensor.data_ptr()] = line["number"]
        self.session.line("collective", **line)

    @observer
    def waited(self, tensor, begin_ns):
        number = self._waited.pop(tensor.data_ptr(), None)
        if number is not None:
            self.session.line("waited", number=number, begin_ns=begin_ns, end_ns=self.session.now())
