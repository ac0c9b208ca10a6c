# SPDX-License-Identifier: Apache-2.0
"""What is known of an attention over shards while the job computes it itself."""

from ._exchanges import storage_of
from ._hashing import gridsum64


class HandCall:
    """One attention of one layer, from its inputs to its results."""

    def __init__(self, number, direction, layout, begin_ns):
        self.number = number
        self.forward_number = number
        self.direction = direction
        self.layout = layout
        self.begin_ns = self.seen_ns = begin_ns
        self.layer, self.microbatch = None, 0
        self.rank, self.size, self.members, self.group = 0, 1, [0], None
        self.causal, self.scale = False, None
        self.elements = 0  # of k and v
        self.inputs = {}  # by name, until the results of a forward are there
        self.ring_step = 0
        self.q_shape = self.k_shape = ()
        self.sources = {}
        self.pieces = {}
        self.operators = []
        self.kv_storages, self.kv_hashes = set(), set()
        self.exchanges = None

    def backward(self, number, begin_ns):
        """The call that is this one's backward."""
        call = HandCall(number, "backward", self.layout, begin_ns)
        for known in ("layer", "microbatch", "rank", "size", "members", "group", "causal", "scale"):
            setattr(call, known, getattr(self, known))
        call.forward_number, call.elements = self.number, self.elements
        call.q_shape, call.k_shape = self.q_shape, self.k_shape
        return call

    def place(self):
        at = {"layer": self.layer, "microbatch": self.microbatch, "ring_step": self.ring_step}
        if self.direction == "backward":  # whether autograd called it or the job itself
            at["pass"] = "backward"
        return at

    def knows(self, *tensors):
        """These are keys and values, wherever they come by later."""
        for tensor in tensors:
            self.kv_storages.add(storage_of(tensor))
            if self.direction == "backward":  # forward sends nothing else
                self.kv_hashes.add(gridsum64(tensor))

    def payload_of(self, tensor):
        """Of one that is sent. What arrived goes on as what it was."""
        if self.direction == "forward" or storage_of(tensor) in self.kv_storages:
            return "kv"
        arrived = self.exchanges.arrived_as(tensor)
        return arrived or ("kv" if gridsum64(tensor) in self.kv_hashes else "dkv")

    def strategy(self):
        """ "ulysses" where one operator attended all tokens of a share of the heads."""
        if len(self.operators) != 1 or self.size == 1:
            return None
        _, heads, rows, _ = self.operators[0]["q_shape"]
        turned = heads * self.size == self.q_shape[1] and rows == self.q_shape[2] * self.size
        return "ulysses" if turned else None

    def whose(self, steps):
        """Whose block is held at each of so many ring steps, as world ranks: as the job said it, and
        between that by the way that its blocks go round. None where neither tells."""
        way = next(
            (
                way
                for way in (-1, 1)
                if all((self.rank + way * s) % self.size == at for s, at in self.sources.items())
            ),
            None,
        )
        seats = []
        for step in range(steps):
            seat = self.sources.get(step)
            if seat is None and way is not None:
                seat = (self.rank + way * step) % self.size
            seats.append(None if seat is None else self.members[seat])
        return seats
