# SPDX-License-Identifier: Apache-2.0
"""PyTorch's ring within compiled code. The ring's functions run only while the code is traced. Later only its operators
run: the attention of each block, and the exchanges. They are put together here to the same call.

An operator belongs to the ring if its tensors do: a block attends the keys and values that an exchange brought, and
an exchange sends those of a block. An operator that does not fit ends the record of its call, and a limit says so."""

import inspect

import torch
import torch.distributed as dist

from ._hashing import gridsum64
from ._session import observer

_MOST_POSTED = 64
_EXCHANGES = {"all_gather_into_tensor": "AllGather", "all_to_all_single": "AllToAll"}


class _Traced:
    """The facts about a ring's calls that its trace shows."""

    def __init__(self, given, options):
        self.group = given["group"] if "group" in given else given["mesh"].get_group()
        self.rank, self.size = dist.get_rank(self.group), dist.get_world_size(self.group)
        self.op = given["op"]
        self.causal = bool(given.get("is_causal", False))
        self.kwargs = {name: given.get("kwargs", {}).get(name) for name in ("scale", "dropout_p", "attn_bias")}
        self.balanced = bool(options.enable_load_balance)
        self.gathers = "GATHER" in options.rotate_method.name

    def same(self):
        return (self.group.group_name, str(self.op), self.causal, str(self.kwargs), self.balanced, self.gathers)

    def steps(self):
        """Returns the ring steps at which this rank attends something."""
        skips = self.causal and not self.balanced
        return [step for step in range(self.size) if not (skips and step > self.rank)]

    def rows(self, step, length):
        """Returns the rows [begin, end) of queries and of keys that are attended at a ring step."""
        whole = [0, length]
        if step == 0 or not (self.balanced and self.causal):
            return whole, whole
        half = length // 2
        return (whole, [0, half]) if step <= self.rank else ([half, length], whole)


class _Exchange:
    def __init__(self, kind, sent, begin_ns, posted_ns):
        self.kind, self.hashed = kind, gridsum64(sent)
        self.bytes = sent.numel() * sent.element_size()
        self.begin_ns, self.posted_ns = begin_ns, posted_ns
        self.wait_ns = self.end_ns = 0
        self.result = None


class _Running:
    """A call of the ring whose operators are running."""

    def __init__(self, traced, call, length):
        self.traced, self.call, self.length = traced, call, length
        self.steps = traced.steps()
        self.done = 0  # of the steps
        self.kv, self.dkv = [], []  # exchanges
        self.arrived = 0  # of the kv buffers
        self.hops = {payload: {"count": 0, "posted_ns": 0, "bytes": 0, "id": None} for payload in ("kv", "dkv")}
        self.held = None  # hash of the keys and values that the next exchange sends
        self.attended = []  # hashes of each block's keys and values; of a backward, those of its forward


class CompiledRing:
    def __init__(self, session, ring, limit):
        self.session = session
        self._ring = ring
        self._limit = limit
        self._traced = {}  # by the shapes of q and k; None: several rings have them
        self._blocks = set()  # the shapes of the queries and keys of all blocks of these rings
        self._running = None
        self._posted = {}  # exchanges by the address of their result, while their ring is not known
        self._open = []  # forwards whose results nobody has shown yet: (call, hash of q, end, hashes of the blocks)
        ring.traced = self.traced

    def traced(self, template, direction, args, kwargs):
        """Notes a ring that is traced. Its tensors have no values."""
        if direction != "forward":
            return
        given = inspect.signature(template).bind(*args, **kwargs).arguments
        key = tuple(given["query"].shape), tuple(given["key"].shape)
        found = _Traced(given, self._ring.options)
        known = self._traced.setdefault(key, found)
        if known is not None and known.same() != found.same():
            self._traced[key] = None
        for step in found.steps():
            rows = [end - begin for begin, end in found.rows(step, key[0][2])]
            self._blocks.add(tuple((*shape[:2], length, *shape[3:]) for shape, length in zip(key, rows)))

    def border(self):
        """Ends the calls of a training step."""
        self._abandon()
        self._posted.clear()
        for call, _, end_ns, _ in self._open:
            self._ring.end_later(call, {}, end_ns)
        self._open.clear()

    def _abandon(self):
        if self._running is not None:
            self._limit("a ring within compiled code has other operators than PyTorch's: it is not recorded as a ring")
        self._running = None

    # The exchanges.

    def around(self, operator, args, run):
        """Runs a collective. Remembers it if it may be an exchange of a ring."""
        if not self._traced or operator.namespace != "_c10d_functional":
            return run()
        begin_ns = self.session.now()
        posted = self.sent(operator, args, begin_ns)
        results = run()
        if operator.name == "wait_tensor":
            self.came(args[0], begin_ns)
        elif posted is not None:
            self.posted(posted, results)
        return results

    @observer
    def sent(self, operator, args, begin_ns):
        kind = _EXCHANGES.get(operator.name)
        return None if kind is None else _Exchange(kind, args[0], begin_ns, self.session.now())

    @observer
    def posted(self, exchange, result):
        while len(self._posted) >= _MOST_POSTED:
            self._posted.pop(next(iter(self._posted)))
        self._posted[result.data_ptr()] = exchange
        running = self._running
        if running is None:
            return
        if exchange.hashed == running.held and not (running.traced.gathers and running.kv):
            running.kv.append(exchange)
        elif running.call.direction == "backward" and exchange.kind == "AllToAll":
            running.dkv.append(exchange)

    @observer
    def came(self, result, begin_ns):
        exchange = self._posted.get(result.data_ptr())
        if exchange is None:
            return
        exchange.wait_ns, exchange.end_ns, exchange.result = begin_ns, self.session.now(), result
        running = self._running
        if running is None:
            return
        if exchange in running.dkv:
            self._hop(running, "dkv", exchange, result)
        if exchange in running.kv and not running.traced.gathers:
            running.held = gridsum64(result)
        self._end_if_complete(running)

    def _hop(self, running, payload, exchange, buffer):
        hops = running.hops[payload]
        hops.update(count=hops["count"] + 1, posted_ns=exchange.posted_ns, bytes=exchange.bytes)
        self._ring.write_hop(running.call, payload, exchange.kind, hops, exchange.wait_ns, buffer)

    # The blocks.

    def takes(self, operator, args, kwargs):
        """Returns a function that runs and records the operator, or None if it is no block of a traced ring."""
        if not self._traced or operator.is_math:
            return None
        given = operator.given(args, kwargs)
        key = tuple(given["query"].shape), tuple(given["key"].shape)
        if key not in self._blocks:
            return None
        return lambda run: self._run(operator, given, args, kwargs, key, run)

    def _run(self, operator, given, args, kwargs, key, run):
        rows = self.begins(operator, given, key)
        begin_ns = self.session.now()
        results = run()
        if rows is not None:
            self.ended(operator, args, kwargs, results, rows, begin_ns)
        return results

    @observer
    def begins(self, operator, given, key):
        """Returns the rows of queries and of keys of a block. None: it is not known where it belongs."""
        q, k, v = given["query"], given["key"], given["value"]
        if self._running is None and not self._begin(operator, given, key):
            return None
        running = self._running
        step = running.steps[running.done]
        rows = running.traced.rows(step, running.length)
        if running.call.direction == operator.direction and self._fits(running, step, rows, q, k, v):
            return rows
        self._abandon()
        return None

    def _begin(self, operator, given, key):
        traced, known = self._traced.get(key), []
        q, k, v = given["query"], given["key"], given["value"]
        held = gridsum64(torch.cat([k.flatten(), v.flatten()]))
        sent = [exchange for exchange in self._posted.values() if exchange.hashed == held]
        forward = operator.direction == "forward"
        if not forward:
            known = self._show(given, gridsum64(q))
        if traced is None or not (sent or known):
            self._limit("attention of a ring within compiled code is not recorded, because its exchange was not seen")
            return False
        named = {"query": q, "key": k, "value": v, "group": traced.group, "op": traced.op}
        named.update(is_causal=traced.causal, kwargs=traced.kwargs)
        if not forward:
            named.update(out=given["out"], grad_out=given.get("grad_out", given.get("grad_out_")))
        call = self._ring.write_begin(operator.direction, named)
        self._running = running = _Running(traced, call, q.size(2))
        running.held, running.query, running.attended = held, q, known
        running.kv += sent[-1:]
        if sent and not traced.gathers and sent[-1].result is not None:
            running.held = gridsum64(sent[-1].result)
        if forward:
            call.hashed = gridsum64(q)
        return True

    def _show(self, given, hashed):
        """Ends the forward of this backward, which is given its results. Returns the hashes of its blocks."""
        at = next((at for at, (_, of, _, _) in enumerate(self._open) if of == hashed), None)
        if at is None:
            return []
        call, _, end_ns, known = self._open.pop(at)
        self._ring.end_later(call, {"out": given["out"], "lse": given["logsumexp"]}, end_ns)
        return known

    def _fits(self, running, step, rows, q, k, v):
        """Reports whether a block attends what PyTorch's ring holds at this step, and records what has arrived."""
        came = gridsum64(k), gridsum64(v)
        if running.call.direction == "forward":
            running.attended.append(came)
        if step == 0:
            return True
        (q_first, q_end), (k_first, k_end) = rows
        if not torch.equal(q, running.query[:, :, q_first:q_end]):
            return False
        if not running.kv:  # backward uses what forward had gathered
            if came != running.attended[running.done]:
                return False
            while running.arrived < step:
                self._keep(running)
            return True
        size, rank = running.traced.size, running.traced.rank
        if not all(self._arrive(running, at) for at in range(running.arrived + 1, step + 1)):
            return False
        buffer = self._buffer(running, step, (rank - step) % size)
        half = buffer.numel() // 2
        shape = running.call.kv_shape[1:]
        keys, values = buffer[:half].reshape(shape), buffer[half:].reshape(shape)
        return torch.equal(k, keys[:, :, k_first:k_end]) and torch.equal(v, values[:, :, k_first:k_end])

    @staticmethod
    def _buffer(running, step, source):
        """Returns the keys and values of a ring step, flat, or None before they have arrived."""
        traced = running.traced
        exchange = running.kv[0] if traced.gathers else running.kv[step - 1] if step <= len(running.kv) else None
        if exchange is None or exchange.result is None:
            return None
        return exchange.result.flatten().chunk(traced.size)[source] if traced.gathers else exchange.result

    def _arrive(self, running, step):
        buffer = self._buffer(running, step, (running.traced.rank - step) % running.traced.size)
        if buffer is None:
            return False
        self._hop(running, "kv", running.kv[0 if running.traced.gathers else step - 1], buffer)
        running.arrived = step
        return True

    def _keep(self, running):
        """Records a ring step for which nothing was sent, because forward kept what it had gathered."""
        now = self.session.now()
        running.hops["kv"].update(count=running.hops["kv"]["count"] + 1, posted_ns=now, bytes=0)
        self._ring.write_hop(running.call, "kv", "AllGather", running.hops["kv"], now, None, moved=False)
        running.arrived += 1

    @observer
    def ended(self, operator, args, kwargs, results, rows, begin_ns):
        running = self._running
        self._ring.write_block(
            running.call, operator, args, kwargs, results, begin_ns, self.session.now(), rows
        )
        running.done += 1
        self._end_if_complete(running)

    def _end_if_complete(self, running):
        """Ends the call after its last block and exchange."""
        traced, call = running.traced, running.call
        if running.done < len(running.steps):
            return
        while not running.kv and running.arrived < traced.size - 1:
            self._keep(running)
        while running.arrived < traced.size - 1 and self._arrive(running, running.arrived + 1):
            pass
        if running.arrived < traced.size - 1:
            return
        if call.direction == "forward":
            self._open.append((call, call.hashed, self.session.now(), running.attended))
        elif running.hops["dkv"]["count"] < traced.size:
            return
        else:
            buffer = running.dkv[-1].result
            half, shape = buffer.numel() // 2, call.kv_shape[1:]
            kind = running.query.dtype
            parts = {"dk": buffer[:half], "dv": buffer[half:]}
            self._ring.end_later(
                call, {what: part.to(kind).reshape(shape) for what, part in parts.items()}, self.session.now()
            )
        self._running = None
        self._posted.clear()
