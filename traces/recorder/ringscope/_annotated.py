# SPDX-License-Identifier: Apache-2.0
"""Attention over shards that the job computes itself and describes by annotations."""

import threading

import torch
import torch.distributed as dist

from ._exchanges import Exchanges
from ._hand_call import HandCall
from ._hashing import gridsum64
from ._session import observer
from ._shapes import heads_first, lse_of, packed
from ._following import follow
from ._attention_facts import scale_and_mask


class _Current(threading.local):
    call = None


class AnnotationObserver:
    def __init__(self, session, ring):
        self.session = session
        self.current = _Current()
        self._ring = ring
        self.own_block = lambda q, heads_first: (None, None)
        # Forward calls of this training step by the hash of q, because backward may get a copy of q.
        self._forwards, self._step = {}, -1
        self.shared = None  # the group of the last attention, this rank in it, and its size

    @observer
    def begin(self, q, k, v, dout, group, causal, scale, layout, layer):
        if self.current.call is not None:
            self._end({}, "the next attention began before this one had its results")
        session = self.session
        direction = "backward" if dout is not None else "forward"
        call = HandCall(self._ring.next_call(), direction, layout, session.now())
        at = gridsum64(q)
        if self._step != session.step:
            self._forwards, self._step = {}, session.step
        call.layer = layer
        call.microbatch = max(session.microbatch, 0)
        if direction == "backward" and at in self._forwards:
            call.forward_number, known, call.microbatch, causal, scale = self._forwards[at]
            call.layer = known if layer is None else layer
        if direction == "forward":
            if layer is None:
                call.layer = session.find_layer(q)
            self._forwards[at] = (call.number, call.layer, call.microbatch, causal, scale)
        call.said.update(causal=bool(causal), scale=scale)
        self._join(call, group)
        inputs = {"q": q, "k": k, "v": v, "dout": dout}
        inputs = {what: heads_first(t, layout, what) for what, t in inputs.items() if t is not None}
        call.q_shape, call.k_shape = inputs["q"].shape, inputs["k"].shape
        call.knows(k, v)
        call.elements = k.numel() + v.numel()
        if direction == "forward":
            call.inputs = {"q": q, "k": k, "v": v}
        wanted = ("dout",) if direction == "backward" else ("q", "k", "v")
        self._write_begin(call, {what: inputs[what] for what in wanted})

    @observer
    def backward_of(self, forward, dout, is_followed=True):
        """Begins the backward of `forward`, which autograd runs. `is_followed`: it ends when gradients have arrived."""
        if self.current.call is not None:
            self._end({}, "the next attention began before this one had its results")
        call = forward.backward(self._ring.next_call(), self.session.now())
        call.is_followed = is_followed
        self._write_begin(call, {"dout": heads_first(dout, call.layout, "dout")})

    @observer
    def recognised(self, q, k, v, group, layout, said, followed):
        """Begins a forward that no annotation describes. `said` are fields of its line that its arguments state. The
        gradients of `followed` are: the job's own tensors by name, {} if backward_of() begins the backward."""
        session = self.session
        call = HandCall(self._ring.next_call(), "forward", layout, session.now())
        inputs = {what: heads_first(t, layout, what) for what, t in (("q", q), ("k", k), ("v", v))}
        own_block, call.layer = self.own_block(q, inputs["q"])
        if own_block is None:
            call.layer = session.find_layer(q)
        call.microbatch = max(session.microbatch, 0)
        call.said.update(operator="recognised", own_block=own_block, **said)
        self._join(call, group)
        call.q_shape, call.k_shape = inputs["q"].shape, inputs["k"].shape
        call.q_hash = gridsum64(inputs["q"].detach().contiguous()) if call.size > 1 else None
        call.knows(k, v)
        call.elements = k.numel() + v.numel()
        call.inputs = followed
        self._write_begin(call, inputs)

    def _write_begin(self, call, named):
        session = self.session
        call.exchanges = Exchanges(call.elements)
        place = {"layer": call.layer, "microbatch": call.microbatch}
        begin = {
            "call": call.number,
            "forward_call": call.forward_number,
            "direction": call.direction,
            **session.place(**place),
            "q_shape": list(call.q_shape),
            "k_shape": list(call.k_shape),
            "tensors": session.tensors(named, **place),
            "ring": {"group": call.group, "rank": call.rank, "rotate": "p2p", "load_balance": False},
            "begin_ns": call.begin_ns,
        }
        if call.is_recognised:
            call.begin = begin  # the operators within may state the mask
        else:
            session.line("attention", **begin, **call.said)
        self.current.call = call

    def _join(self, call, group):
        if not (dist.is_available() and dist.is_initialized()):
            return
        group = dist.group.WORLD if group is None else group
        call.rank, call.size = dist.get_rank(group), dist.get_world_size(group)
        call.members = dist.get_process_group_ranks(group)
        call.group = self.session.group(group)
        self.shared = call.group, call.rank, call.size

    @observer
    def block(self, step, source, k, v, out, lse, running_lse, q_rows, k_rows, causal):
        call = self.current.call
        if call is None:
            raise ValueError("block() outside of an attention; attention(q, k, v, …) begins one")
        if not 0 <= source < call.size:
            raise ValueError(f"source={source} is no rank of a group of {call.size}")
        session = self.session
        call.ring_step = step
        call.sources[step] = source
        call.knows(k, v)
        piece = call.pieces.get(step, 0)
        call.pieces[step] = piece + 1
        at = {**call.place(), "source_rank": call.members[source]}
        keys = heads_first(k, call.layout, "k")
        if piece == 0:
            held = torch.stack([keys, heads_first(v, call.layout, "v")])
            session.tensor("kv", held, keep=False, **at)
        out = heads_first(out, call.layout, "out")
        named = {"block_out": out, "block_lse": lse_of(lse, out, "lse")}
        tensors = session.tensors(named, piece=piece, **at)
        begin_ns, now = call.seen_ns, session.now()
        session.line(
            "block",
            call=call.number,
            direction=call.direction,
            **session.place(**at),
            piece=piece,
            operator="annotated",
            causal=bool(causal),
            q_rows=list(q_rows or (0, call.q_shape[2])),
            k_rows=list(k_rows or (0, keys.shape[2])),
            tensors=tensors,
            begin_ns=begin_ns,
            end_ns=now,
        )
        if running_lse is not None:
            self._merged(call, running_lse, at, piece, now)
        call.seen_ns = session.now()

    def _merged(self, call, running_lse, at, piece, now):
        merged = torch.empty(call.q_shape, device="meta")
        lse = lse_of(running_lse, merged, "running_lse")
        self.session.line(
            "merge",
            call=call.number,
            direction=call.direction,
            **self.session.place(**at),
            piece=piece,
            tensors={"running_lse": self.session.tensor("running_lse", lse, **at)},
            begin_ns=now,
            end_ns=now,
        )

    @observer
    def end(self, results, returned=None):
        """Ends the attention. `returned` is the job's tensor that `out` was made of, and the function that made it."""
        if self.current.call is None:
            raise ValueError("results of no attention; attention(q, k, v, …) begins one")
        self._end(results, returned=returned)

    def _end(self, results, trouble=None, returned=None):
        session, call = self.session, self.current.call
        self.current.call = None
        if trouble:
            session.trouble("attention", ValueError(trouble))
        strategy = None
        if not call.pieces:
            strategy = call.shares_by or call.strategy()
            if strategy == "all_gather":
                call.shares_by = strategy
            call.settle(strategy)
            if call.is_recognised:
                session.line("attention", **call.begin, **call.said)
            for line in call.operators:
                session.line("block", **line)
        inputs, call.inputs = call.inputs, {}
        follows = strategy == "ulysses" or call.is_recognised
        if follows and inputs and results.get("out") is not None:
            tensor, turn = returned or (results["out"], lambda gradient: gradient)
            follow(
                inputs,
                tensor,
                lambda gradient: self.backward_of(call, packed(turn(gradient))),
                lambda gradients: self.end({name: packed(gradient) for name, gradient in gradients.items()}),
            )
        now = session.now()
        otherwise = "kv" if call.direction == "forward" else "dkv"
        hops = call.exchanges.hops(otherwise, now)
        steps = [*call.pieces, *(hop["hop"] for hop in hops if hop["payload"] == "kv"), 0]
        sources = call.whose(min(max(steps) + 1, call.size))
        self._write_hops(call, hops, sources)
        at = {"layer": call.layer, "microbatch": call.microbatch}
        named = {w: heads_first(results.get(w), call.layout, w) for w in ("out", "dq", "dk", "dv")}
        if named["out"] is None:
            named["out"] = call.out_of_all
        call.out_of_all = None  # backward keeps the call
        named["lse"] = lse_of(results.get("lse"), named["out"], "lse")
        ids = session.tensors(named, **at)
        session.line(
            "attention_end",
            call=call.number,
            ring_steps=len(sources) if call.pieces or call.operators else 0,
            sources=sources,
            strategy=strategy,
            tensors=ids,
            end_ns=now,
        )

    def _write_hops(self, call, hops, sources):
        known = dict(enumerate(sources))
        for hop in hops:
            number = hop["hop"]
            home = hop["payload"] == "dkv" and number == call.size
            self.session.line(
                "hop",
                call=call.number,
                direction=call.direction,
                **self.session.place(**{**call.place(), "ring_step": number - 1}),
                sends_of=known.get(number - 1),
                brings_of=call.members[call.rank] if home else known.get(number),
                **hop,
            )

    @observer
    def message(self, line, tensor):
        """Records a message that was posted within an annotated attention."""
        call = self.current.call
        payload = call.payload_of(tensor) if line["operator"] == "send" else None
        call.exchanges.posted(line, tensor, payload, self.session.now())

    def waited(self, number, begin_ns, end_ns):
        if self.current.call is not None:
            self.current.call.exchanges.waited(number, begin_ns, end_ns)
            self.current.call.seen_ns = end_ns

    def operator(self, operator, args, kwargs, run):
        """Runs an attention operator within an annotated attention. The blocks come from block(); without block(), they
        are the operator's calls."""
        call = self.current.call
        call.seen_ns = begin_ns = self.session.now()
        results = run()
        if results is not None:  # otherwise an inner operator was recorded already
            self.attended(call, operator, args, kwargs, results, begin_ns, self.session.now())
        return results

    @observer
    def attended(self, call, operator, args, kwargs, results, begin_ns, end_ns):
        given = operator.given(args, kwargs)
        q, k = given["query"], given["key"]
        mask = given.get("attn_mask", given.get("attn_bias"))
        # A mask of numbers does not show which pairs it allows.
        rows = None if mask is not None else [0, q.size(2)]
        at = {**call.place(), "source_rank": call.members[call.rank]}
        ids = {}
        call.takes_out(q, k, results[0])
        # The operator attends other rows than the shard's, so no block() describes it: it is the attention itself.
        if call.direction == "forward" and q.size(2) != call.q_shape[2]:
            named = {"block_out": results[0], "block_lse": operator.lse_of(results)}
            ids = self.session.tensors(named, piece=len(call.operators), **at)
        call.operators.append(
            {
                "call": call.number,
                "direction": call.direction,
                **self.session.place(**at),
                "piece": len(call.operators),
                "operator": operator.full_name,
                "causal": bool(given.get("is_causal", False)),
                **scale_and_mask(given),
                "q_rows": rows,
                "k_rows": rows and [0, k.size(2)],
                "q_shape": list(q.shape),
                "k_shape": list(k.shape),
                **operator.says(given),
                "tensors": ids,
                "begin_ns": begin_ns,
                "end_ns": end_ns,
            }
        )
