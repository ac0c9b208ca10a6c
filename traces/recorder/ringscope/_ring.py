# SPDX-License-Identifier: Apache-2.0
"""PyTorch's ring attention as it runs: its calls, hops, blocks and merges."""

import inspect
import threading

import torch
import torch.distributed as dist

from ._pytorch import context_parallel_module, local_of
from ._session import observer
from ._tracing import is_traced


class Call:
    """One attention of one layer that PyTorch's ring computes, forward or backward."""

    def __init__(self, number, forward_number, direction, begin_ns):
        self.number = number
        self.forward_number = forward_number
        self.direction = direction
        self.begin_ns = begin_ns
        self.layer = None
        self.microbatch = 0
        self.query = None
        self.rotaters = 0
        self.ring_step = 0
        self.held = None
        self.kv_shape = []
        self.rank, self.size, self.members, self.group = 0, 1, [], ""
        self.pieces = {}

    def place(self):
        return {"layer": self.layer, "microbatch": self.microbatch, "ring_step": self.ring_step}

    def source(self):
        """Returns the world rank whose KV PyTorch's ring holds at this ring step."""
        return self.members[(self.rank - self.ring_step) % self.size]


class _Current(threading.local):
    call = None


def _rows(part, begin, length):
    """Returns the rows [begin, end) that a view takes of a dimension of size `length`; None: unknown."""
    stride = part.stride(2)
    if part.size(2) == length:
        return [0, length]
    offset = part.storage_offset() - begin
    if stride <= 0 or offset < 0 or offset % stride:
        return None
    first = offset // stride
    return [first, first + part.size(2)] if first + part.size(2) <= length else None


class RingObserver:
    """Wrappers of the ring's functions while a session lasts."""

    def __init__(self, session, patches):
        self.session = session
        self.current = _Current()
        self._calls = 0
        self._forwards = {}
        ring = context_parallel_module()
        if ring is None:
            version = torch.__version__
            session.line("limit", why=f"PyTorch {version} has no context_parallel that the recorder knows")
            return
        self.options = ring._cp_options
        patches.wrap(ring, "_templated_ring_attention", self._template("forward"))
        patches.wrap(ring, "_templated_ring_attention_backward", self._template("backward"))
        patches.wrap(ring, "_create_rotater", self._rotater)
        if hasattr(ring, "_SDPAMerger"):
            patches.wrap(ring._SDPAMerger, "step", self._merge)

    traced = staticmethod(lambda template, direction, args, kwargs: None)

    def next_call(self):
        """Returns a number for an attention. Ranks of a ring that compute the same attention get the same number."""
        self._calls += 1
        return self._calls

    def _template(self, direction):
        def make(original):
            signature = inspect.signature(original)

            def ring_attention(*args, **kwargs):
                if is_traced():
                    self.traced(original, direction, args, kwargs)
                    return original(*args, **kwargs)
                given = signature.bind(*args, **kwargs).arguments
                outer, self.current.call = self.current.call, self.begin(direction, given)
                try:
                    results = original(*args, **kwargs)
                    self.end(self.current.call, results)
                    return results
                finally:
                    self.current.call = outer

            return ring_attention

        return make

    @observer
    def begin(self, direction, given):
        return self.write_begin(direction, given)

    def write_begin(self, direction, given):
        """Writes the beginning of an attention, and the keys and values that the rank has itself."""
        number = forward = self.next_call()
        query, key = given["query"], given["key"]
        session = self.session
        if direction == "backward":
            forward, layer, microbatch = self._forwards.get(
                given["out"].data_ptr(), (None, None, session.microbatch)
            )
        call = Call(number, forward, direction, session.now())
        call.layer = layer if direction == "backward" else session.find_layer(query)
        call.microbatch = max(microbatch if direction == "backward" else session.microbatch, 0)
        group = given["group"] if "group" in given else given["mesh"].get_group()
        call.rank, call.size = dist.get_rank(group), dist.get_world_size(group)
        call.members = dist.get_process_group_ranks(group)
        call.group = session.group(group)
        call.query = query
        at = {"layer": call.layer, "microbatch": call.microbatch}
        named = {"q": query, "k": key, "v": given["value"]}
        if direction == "backward":
            named = {"dout": given["grad_out"]}
        ids = session.tensors(named, **at)
        call.kv_shape = [2, *key.shape]
        self.held(call, torch.stack([key, given["value"]]))
        kwargs = given.get("kwargs", {})
        session.line(
            "attention",
            call=call.number,
            forward_call=forward,
            direction=direction,
            **session.place(**at),
            operator=str(given["op"]),
            causal=bool(given.get("is_causal", False)),
            scale=kwargs.get("scale"),
            dropout=kwargs.get("dropout_p", 0.0),
            masked=kwargs.get("attn_bias") is not None,
            q_shape=list(query.shape),
            k_shape=list(key.shape),
            tensors=ids,
            ring={
                "group": call.group,
                "rank": call.rank,
                "rotate": self.options.rotate_method.name.lower().replace("_", ""),
                "load_balance": bool(self.options.enable_load_balance),
            },
            begin_ns=call.begin_ns,
        )
        return call

    def held(self, call, kv):
        """Records the keys and values that are attended at this ring step: [2, B, H, S, D]."""
        at = {**call.place(), "source_rank": call.source()}
        self.session.tensor("kv", kv.reshape(call.kv_shape), keep=False, **at)

    @observer
    def end(self, call, results):
        if call is None:
            return
        if call.direction == "forward":
            out, lse = results[0], results[1]
            named = {"out": out, "lse": lse}
        else:
            named = dict(zip(("dq", "dk", "dv"), results[:3]))
        self.end_later(call, named, None)

    def end_later(self, call, named, end_ns):
        """Writes the results of an attention that ended at `end_ns`; None: now."""
        at = {"layer": call.layer, "microbatch": call.microbatch}
        if end_ns is not None:
            at["pass"] = call.direction
        if "out" in named:
            out, lse = named["out"], named["lse"]
            self._forwards[out.data_ptr()] = (call.number, call.layer, call.microbatch)
            named = {"out": out, "lse": lse.squeeze(-1) if lse.dim() == out.dim() else lse}
        ids = self.session.tensors(named, **at)
        self.session.line(
            "attention_end",
            call=call.number,
            ring_steps=call.ring_step + 1,
            tensors=ids,
            end_ns=self.session.now() if end_ns is None else end_ns,
        )

    def _rotater(self, original):
        def create(*args, **kwargs):
            rotater = original(*args, **kwargs)
            self.watch(self.current.call, rotater)
            return rotater

        return create

    @observer
    def watch(self, call, rotater):
        if call is None:
            return
        payload = "kv" if call.rotaters == 0 else "dkv"
        call.rotaters += 1
        hops = {"count": 0, "posted_ns": 0, "bytes": 0, "id": None}
        exchange, following = rotater.exchange_buffers, rotater.next_buffer
        kind = type(rotater).__name__

        def exchange_buffers(buffer):
            hops["posted_ns"] = self.session.now()
            hops["bytes"] = buffer.numel() * buffer.element_size()
            return exchange(buffer)

        def next_buffer():
            begin_ns = self.session.now()
            buffer = following()
            hops["count"] += 1
            self.arrived(call, payload, kind, hops, begin_ns, buffer)
            return buffer

        rotater.exchange_buffers, rotater.next_buffer = exchange_buffers, next_buffer

    @observer
    def arrived(self, call, payload, kind, hops, wait_ns, buffer):
        self.write_hop(call, payload, kind, hops, wait_ns, buffer)

    def write_hop(self, call, payload, kind, hops, wait_ns, buffer, moved=True):
        """Writes a hop of the ring. `buffer` has the keys and values that are attended next; None: they are not known
        as a whole."""
        if payload == "kv":
            call.ring_step = hops["count"]
            call.held = buffer
            if buffer is not None:
                self.held(call, local_of(buffer))
        gathers = "Gather" in kind
        self.session.line(
            "hop",
            call=call.number,
            direction=call.direction,
            **self.session.place(**call.place()),
            payload=payload,
            hop=hops["count"],
            rotate="allgather" if gathers else "alltoall",
            # PyTorch's ring sends to the next rank of the group. Gathered blocks arrived all at once.
            send_to=call.members[(call.rank + 1) % call.size],
            receive_from=call.members[(call.rank - 1) % call.size],
            group=call.group,
            bytes=hops["bytes"],
            moved=moved and (not gathers or hops["count"] == 1),
            posted_ns=hops["posted_ns"],
            wait_ns=wait_ns,
            end_ns=self.session.now(),
        )

    def block(self, operator, args, kwargs, run):
        """Records an attention operator that the ring called for a block."""
        call = self.current.call
        begin_ns = self.session.now()
        results = run()
        self.attended(call, operator, args, kwargs, results, begin_ns, self.session.now())
        return results

    @observer
    def attended(self, call, operator, args, kwargs, results, begin_ns, end_ns):
        self.write_block(call, operator, args, kwargs, results, begin_ns, end_ns)

    def write_block(self, call, operator, args, kwargs, results, begin_ns, end_ns, rows=None):
        """Writes a block. `rows` are those of queries and keys; None: their views show them."""
        given = operator.given(args, kwargs)
        q, k = given["query"], given["key"]
        length = call.query.size(2)
        held = call.held.storage_offset() if call.held is not None else k.storage_offset()
        if rows is None:
            rows = _rows(q, call.query.storage_offset(), length), _rows(k, held, length)
        piece = call.pieces.setdefault(call.ring_step, 0)
        call.pieces[call.ring_step] += 1
        at = {**call.place(), "source_rank": call.source(), "piece": piece}
        ids = {}
        if call.direction == "forward":
            ids = self.session.tensors({"block_out": results[0], "block_lse": operator.lse_of(results)}, **at)
        self.session.line(
            "block",
            call=call.number,
            direction=call.direction,
            **self.session.place(**at),
            operator=operator.full_name,
            causal=bool(given.get("is_causal", False)),
            q_rows=rows[0],
            k_rows=rows[1],
            tensors=ids,
            begin_ns=begin_ns,
            end_ns=end_ns,
        )

    def _merge(self, original):
        def step(merger, *args, **kwargs):
            begin_ns = self.session.now()
            result = original(merger, *args, **kwargs)
            self.merged(self.current.call, merger, begin_ns, self.session.now())
            return result

        return step

    @observer
    def merged(self, call, merger, begin_ns, end_ns):
        if call is None:
            return
        lse = merger._lse
        at = {**call.place(), "source_rank": call.source()}
        if lse.dim() == merger._out.dim():
            lse = lse.squeeze(-1)
        self.session.line(
            "merge",
            call=call.number,
            direction=call.direction,
            **self.session.place(**at),
            piece=call.pieces.get(call.ring_step, 1) - 1,
            tensors={"running_lse": self.session.tensor("running_lse", lse, **at)},
            begin_ns=begin_ns,
            end_ns=end_ns,
        )
