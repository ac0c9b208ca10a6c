# SPDX-License-Identifier: Apache-2.0
"""The state of an attention over shards while the job computes it."""

import torch.distributed as dist

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
        self.said = {"operator": "annotated", "causal": False, "masked": False, "scale": None, "dropout": 0.0}
        self.is_followed = False  # a backward that ends when the gradients of all inputs have arrived
        self.shares_by = None  # strategy that the recorder knows: "all_gather"
        self.begin = {}  # the other fields of a recognised attention's line, until its end
        self.elements = 0  # number of elements of k and v
        self.inputs = {}  # by name, until the results of a forward are known
        self.q_hash = None  # of a recognised attention's q
        self.out_of_all = None  # what one operator gave that attended the tokens of all ranks with this q
        self.ring_step = 0
        self.q_shape = self.k_shape = ()
        self.sources = {}
        self.pieces = {}
        self.operators = []
        self.kv_storages, self.kv_hashes = set(), set()
        self.exchanges = None

    def backward(self, number, begin_ns):
        """Returns the call that is the backward of this one."""
        call = HandCall(number, "backward", self.layout, begin_ns)
        for known in ("layer", "microbatch", "rank", "size", "members", "group", "said", "shares_by"):
            setattr(call, known, getattr(self, known))
        call.forward_number, call.elements = self.number, self.elements
        call.q_shape, call.k_shape = self.q_shape, self.k_shape
        call.kv_hashes = self.kv_hashes
        return call

    @property
    def is_recognised(self):
        """Reports whether no annotation describes the call."""
        return self.said["operator"] == "recognised"

    def place(self):
        at = {"layer": self.layer, "microbatch": self.microbatch, "ring_step": self.ring_step}
        if self.direction == "backward":  # whether autograd or the job itself runs it
            at["pass"] = "backward"
        return at

    def knows(self, *tensors):
        """Remembers keys and values, to recognize them in messages."""
        for tensor in tensors:
            self.kv_storages.add(storage_of(tensor))
            if self.direction == "backward":  # forward sends nothing else
                self.kv_hashes.add(gridsum64(tensor))

    def payload_of(self, tensor):
        """Returns the payload of a sent message. A tensor that was received is sent on with the same payload."""
        if self.direction == "forward":
            if self.is_recognised:  # its backward sends the same blocks
                self.kv_hashes.add(gridsum64(tensor))
            return "kv"
        if storage_of(tensor) in self.kv_storages:
            return "kv"
        arrived = self.exchanges.arrived_as(tensor)
        return arrived or ("kv" if gridsum64(tensor) in self.kv_hashes else "dkv")

    def communicates(self, group, name):
        """Takes note of a recognised attention that communicates over several groups, as Ulysses around a ring does. Its
        line has the names of all of them in place of one."""
        if group is None or dist.get_process_group_ranks(group) == self.members:
            return
        ring = self.begin["ring"]
        ring.setdefault("groups", [ring["group"]])
        if name not in ring["groups"]:
            ring["groups"].append(name)
        self.group = ring["group"] = None

    def settle(self, strategy):
        """Takes the mask of a recognised attention from the operator that attended all tokens. Operators within a ring
        attend blocks, of which nothing is known."""
        if not self.is_recognised:
            return
        if strategy != "ulysses":
            if self.direction == "forward" and self._attends_all():
                self.said["mask_of_all"] = True
            self.operators = []
        elif self.operators and self.said["causal"] is None and self.direction == "forward":
            within = self.operators[0]
            mask = within.get("flex", within).get("mask")
            masked = mask is not None or within.get("masked", False)
            self.said.update(causal=None if masked else within["causal"], masked=masked, mask=mask)

    def _attends_all(self):
        """Reports whether one operator attended the tokens of all ranks with a mask that the job made."""
        if len(self.operators) != 1:
            return False
        within = self.operators[0]
        is_masked = within.get("masked", False) and "flex" not in within
        return is_masked and within["k_shape"][2] == self.k_shape[2] * self.size

    def takes_out(self, query, key, out):
        """Keeps the result of an operator within a recognised attention that attends its q and the keys of all ranks. A
        second such operator makes the result unknown."""
        rows, keys = self.q_shape[2], self.k_shape[2]
        if self.direction != "forward" or not self.is_recognised or (query.size(2), key.size(2)) != (rows, keys * self.size):
            return
        is_first = not self.operators and gridsum64(query.detach().contiguous()) == self.q_hash
        self.out_of_all = out.detach() if is_first else None

    def strategy(self):
        """Returns "ulysses" if one operator attended all tokens of a share of the heads, "all_gather" if it attended all
        tokens with the rank's own queries, else None."""
        is_of_several_groups = "groups" in self.begin.get("ring", {})
        if len(self.operators) != 1 or self.size == 1 or is_of_several_groups:
            return None
        _, heads, rows, _ = self.operators[0]["q_shape"]
        turned = heads * self.size == self.q_shape[1] and rows == self.q_shape[2] * self.size
        if self.out_of_all is not None:
            return "all_gather"
        return "ulysses" if turned else None

    def whose(self, steps):
        """Returns the world rank whose block is held at each of `steps` ring steps. Steps that the job did not describe
        follow from the direction in which its blocks rotate. A value is None if neither is known."""
        way = next(
            (
                way
                for way in (-1, 1)
                if all((self.rank + way * s) % self.size == at for s, at in self.sources.items())
            ),
            None,
        )
        if self.is_recognised and not self.operators:
            way = None
        seats = []
        for step in range(steps):
            seat = self.sources.get(step)
            if seat is None and way is not None:
                seat = (self.rank + way * step) % self.size
            seats.append(None if seat is None else self.members[seat])
        return seats
