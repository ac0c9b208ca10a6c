# SPDX-License-Identifier: Apache-2.0
"""The memory that this rank holds, by purpose, as far as a recorder can observe it."""

import os

import torch

from ._pytorch import local_of

# A sample is taken after the lines in _SAMPLED. After those in _CHANGING, weights, gradients and states are counted
# again.
_SAMPLED = ("model", "attention", "hop", "attention_end", "loss", "optimizer", "step")
_CHANGING = ("model", "attention", "loss", "optimizer", "step")
_STEPPING = ("model", "optimizer", "step")
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _opened():
    try:
        return open("/proc/self/statm", "rb", buffering=0)
    except OSError:
        return None


def resident_bytes(statm):
    """Returns the resident bytes of this process, from the opened /proc/self/statm, or None if it does not exist."""
    try:
        return int(os.pread(statm.fileno(), 128, 0).split()[1]) * _PAGE
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def device_bytes():
    """Returns the numbers of PyTorch's allocator for the current CUDA device, or None if the job does not use CUDA."""
    if not (torch.cuda.is_initialized() and torch.cuda.is_available()):
        return None
    stats = torch.cuda.memory_stats()
    names = {
        "allocated": "allocated_bytes.all.current",
        "most_allocated": "allocated_bytes.all.peak",
        "reserved": "reserved_bytes.all.current",
    }
    return {name: int(stats.get(key, 0)) for name, key in names.items()}


def bytes_of(tensors):
    """Returns the bytes that this rank stores for the tensors. Shared memory counts once."""
    stored = {}
    for tensor in tensors:
        local = local_of(tensor)
        stored[local.data_ptr()] = local.numel() * local.element_size()
    return sum(stored.values())


class MemoryObserver:
    """The samples of memory after lines that mark the job's progress."""

    def __init__(self, session):
        self.session = session
        self._statm = _opened()
        self.known = []
        self.parameters = lambda: ()
        self._optimizers = {}
        self._lasting = {}
        self._attention = {}
        self._own_kv = 0
        self._gathers = False
        self._gradients, self._waiting = {}, []  # bytes by address; parameters without a gradient

    def close(self):
        if self._statm is not None:
            self._statm.close()

    def optimizer(self, optimizer):
        self._optimizers[id(optimizer)] = optimizer

    def saw(self, what, size):
        """Counts a tensor of the attention in progress."""
        held = self._attention
        if what in ("q", "dout"):
            held.clear()
            self._own_kv = 0
            if what == "q":
                held["q"] = size
        elif what in ("k", "v"):
            self._own_kv += size
            held["kv"] = self._own_kv
        elif what == "kv":
            self._own_kv = self._own_kv or size
            held["kv"] = max(held.get("kv", 0), self._own_kv)
        elif what in ("out", "lse"):
            held["out_lse"] = held.get("out_lse", 0) + size

    def sample(self, kind, fields):
        if kind not in _SAMPLED:
            return
        if kind == "hop" and fields["payload"] == "kv":
            blocks = self.session.size_of(fields["group"]) if fields["rotate"] == "allgather" else 1
            self._attention["kv"] = self._own_kv + blocks * fields["bytes"]
        if kind == "step":
            self._attention.clear()
        if kind in _CHANGING:
            self._look_at_parameters(again=kind != "attention")
        if kind in _STEPPING:
            self._lasting["optimizer"] = self._of_optimizers()
        self.session.line(
            "memory",
            after=kind,
            step=self.session.step,
            time_ns=self.session.now(),
            held={**self._lasting, **self._attention},
            resident=resident_bytes(self._statm),
            device=device_bytes(),
            recorder=self.session.writer.value_files.pending_bytes,
        )

    def _look_at_parameters(self, again):
        """Counts weights and gradients again. With `again` false, only looks for new gradients, because weights change
        only if FSDP2 gathers them. The weights of FSDP2 include the gathered parts while these are in the model."""
        if again or self._gathers:
            parameters = [*self.known, *self.parameters()]
            self._gathers = any(local_of(p) is not p for p in self.known)
            self._lasting["weights"] = bytes_of(parameters)
            self._gradients, self._waiting = {}, parameters
        waiting = []
        for parameter in self._waiting:
            gradient = parameter.grad
            if gradient is None:
                waiting.append(parameter)
            else:
                local = local_of(gradient)
                self._gradients[local.data_ptr()] = local.numel() * local.element_size()
        self._waiting = waiting
        self._lasting["gradients"] = sum(self._gradients.values())

    def _of_optimizers(self):
        states = (state for each in self._optimizers.values() for state in each.state.values())
        values = (value for state in states for value in state.values())
        return bytes_of(value for value in values if isinstance(value, torch.Tensor))
