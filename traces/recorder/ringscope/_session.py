# SPDX-License-Identifier: Apache-2.0
"""A recording in progress on this rank: the job's place, and the lines that are written."""

import contextlib
import functools
import os
import threading
import time

import torch
import torch.distributed as dist

from ._digests import digests
from ._layers import Layers
from ._tensors import TYPES, can_be_read, quiet, raw_bytes
from ._tracing import is_traced
from ._memory import MemoryObserver
from ._pytorch import local_of
from ._writer import RankWriter, environment_rank

_MOST_TROUBLES = 20
# Small tensors that checks of positions and labels need. Every policy but "none" keeps them.
_ALWAYS = ("position_ids", "embedding_input", "targets")


def observer(function, wanted=lambda session: session.active):
    """Wraps a method that only observes. The method is skipped while nothing is recorded, its time is counted, and its
    errors are recorded and never reach the job."""

    @functools.wraps(function)
    def guarded(self, *args, **kwargs):
        if is_traced():
            return None
        session = getattr(self, "session", self)
        begin = time.perf_counter_ns()
        try:
            if not wanted(session) or session.inside.busy or session.captures():
                return None
        except Exception as error:  # noqa: BLE001: the job must go on
            session.trouble(function.__name__, error)
            return None
        session.inside.busy = True
        try:
            with quiet():
                return function(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001: the job must go on
            session.trouble(function.__name__, error)
            return None
        finally:
            session.inside.busy = False
            session.overhead_ns += time.perf_counter_ns() - begin

    return guarded


def fingerprinter(function):
    """Wraps an observer of training steps that are not recorded otherwise."""
    return observer(function, lambda s: s.running and s.fingerprints and not s.active)


class _Inside(threading.local):
    busy = False


class Session:
    """The state that all observers share. A process has at most one at a time."""

    def __init__(self, folder, steps, values, max_tensor_bytes, budget_bytes, declare):
        rank, world_size = environment_rank()
        self.writer = RankWriter(folder, rank, world_size, budget_bytes)
        self.rank = rank
        self.world_size = world_size
        self.inside = _Inside()
        self.steps = steps
        self.policy = values
        self.max_tensor_bytes = max_tensor_bytes
        self.step = 0
        self.microbatch = -1
        self.layer = None
        self.layers = Layers(self._layer_begun)
        self.module_names = {}  # of the model, by the modules' ids
        self.collectives = 0  # number of collectives and messages so far
        self.token_shape = ()  # of the ids that the last embedding of tokens was given
        self.recompute = False
        self.saves_hooked = False  # hooks around an attention save what autograd needs, as a checkpoint's do
        self.running = True
        self.fingerprints = False
        self.live = None
        self.overhead_ns = 0
        self.left_out = {}
        self._tensors = 0
        self._kept = {}
        self._troubles, self._told = 0, set()
        self._groups = {}
        self._described = False
        self._said_captured = False
        self.memory = MemoryObserver(self)
        self.at_border = lambda: None
        self.writer.line("declared", **declare)

    @property
    def active(self):
        return self.running and (self.steps is None or self.step in self.steps)

    def now(self):
        """Returns the time. On a GPU, first waits for the stream in recorded training steps, so that times are those of
        the work and not of its launch."""
        if self.active and torch.cuda.is_initialized():
            with contextlib.suppress(Exception):  # an error of the device reaches the job at its own call
                if not self.captures():
                    torch.cuda.current_stream().synchronize()
        return self.writer.now()

    def captures(self):
        """Reports whether a CUDA graph is being captured, because values cannot be read then. Records this once."""
        if not (torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()):
            return False
        if not self._said_captured:
            self._said_captured = True
            self.line("limit", why="a CUDA graph was captured: what is replayed of it is not observed")
        return True

    def place(self, **more):
        """Returns this rank's place: training step, microbatch, layer and pass."""
        at = {"step": self.step, "microbatch": max(self.microbatch, 0), "layer": self.layer}
        backward = torch._C._current_graph_task_id() != -1
        at["pass"] = "recompute" if self.recompute else "backward" if backward else "forward"
        at.update(more)
        return at

    def find_layer(self, query, exchanged=None):
        """Returns the layer of the forward attention that is being called; see Layers.find()."""
        layer = self.layers.find(query, exchanged)
        self.saves_hooked |= torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
        if self.layer is not None:
            self.layer = layer
        return layer

    def _layer_begun(self, number, modules):
        within = modules[0] if modules else None
        kind = "" if within is None else type(within).__name__
        self.line("layer", number=number, module=self.module_names.get(id(within), ""), of=kind)

    def line(self, kind, **fields):
        if not self.running:
            return
        if not self._described:
            self.describe_job()
        if self.writer.left_bytes <= 0:
            self.running = False
            self.writer.line("full", step=self.step)
            return
        try:
            self.writer.line(kind, **fields)
            self.running = not self.writer.broken
            self.memory.sample(kind, fields)
        except Exception as error:  # noqa: BLE001: the job must go on
            self.trouble(f"line {kind}", error)

    def describe_job(self):
        """Records the backend, and an id that all ranks of the job share, once torch.distributed is initialized."""
        if not (dist.is_available() and dist.is_initialized()):
            return
        self._described = True
        from torch.distributed.distributed_c10d import _get_default_store

        own = f"{os.urandom(16).hex()}"
        try:
            job = _get_default_store().compare_set("ringscope/job", "", own)
            job = job.decode() if isinstance(job, bytes) else str(job)
        except RuntimeError:
            job = ""
        self.writer.line(
            "job",
            job=job,
            torch=torch.__version__,
            backend=dist.get_backend(),
            rank=dist.get_rank(),
            world_size=dist.get_world_size(),
            device="cuda" if torch.cuda.is_available() else "cpu",
            cores=os.cpu_count() or 0,
        )

    def group(self, group):
        """Records a process group once and returns its name."""
        name = group.group_name
        if name not in self._groups:
            members = dist.get_process_group_ranks(group)
            self._groups[name] = len(members)
            self.line("group", name=name, members=members)
        return name

    def size_of(self, group_name):
        return self._groups.get(group_name, 1)

    def tensor(self, what, value, **options):
        """Records a tensor's current contents; `options` as in record(). Returns its number, or None if it cannot be
        read."""
        return self.record([(what, value, options)])[0]

    def tensors(self, named, **options):
        """Records several tensors of one place, given by kind. Returns their numbers by kind."""
        items = [(what, value, options) for what, value in named.items() if value is not None]
        return dict(zip((what for what, _, _ in items), self.record(items)))

    def record(self, items):
        """Records the current contents of several tensors at once, which is faster. An item is (what, value, options).
        The options are name, keep, part (the place in the whole tensor) and fields of place(). Returns the tensors'
        numbers."""
        numbers, readable = [None] * len(items), []
        for at, (what, value, options) in enumerate(items):
            value = local_of(value)
            if can_be_read(value) and value.dtype in TYPES:
                readable.append((at, what, value.detach().contiguous(), options))
        found = digests([value for _, _, value, _ in readable])
        for (at, what, value, options), (digest, numbers_of) in zip(readable, found):
            numbers[at] = self._write(what, value, digest, numbers_of, **options)
        return numbers

    def _write(self, what, value, digest, stats, name="", keep=None, part=None, **place):
        dtype, shape = TYPES[value.dtype], list(value.shape)
        self.memory.saw(what, value.numel() * value.element_size())
        fields = self._fields(what, name, dtype, shape, place)
        fields["hash"] = f"{digest:016x}"
        fields["stats"] = stats
        kept = self._values(what, value, (digest, dtype, tuple(shape)), keep)
        if kept:
            fields["values"] = kept
        if part is not None:
            fields["part"] = part
        self.line("tensor", **fields)
        return fields["id"]

    def passes(self, what, value, name="", **place):
        """Records only that a tensor passed here, which takes no time for its elements."""
        value = local_of(value)
        if can_be_read(value) and value.dtype in TYPES:
            fields = self._fields(what, name, TYPES[value.dtype], list(value.shape), place)
            self.line("tensor", **fields)

    def _fields(self, what, name, dtype, shape, place):
        self._tensors += 1
        named = {"id": self._tensors, "what": what, "name": name}
        return {**named, **self.place(**place), "dtype": dtype, "shape": shape}

    def _values(self, what, value, content, keep):
        if self.policy == "none":
            return None
        if content in self._kept:
            return self._kept[content]
        size = value.numel() * value.element_size()
        always = keep or what in _ALWAYS
        if self.policy != "all" and not always and (keep is False or size > self.max_tensor_bytes):
            self.left_out["policy"] = self.left_out.get("policy", 0) + 1
            return None
        if size > self.writer.left_bytes:
            self.left_out["budget"] = self.left_out.get("budget", 0) + 1
            return None
        at = self.writer.values(f"t{self._tensors}", content[1], list(content[2]), raw_bytes(value))
        self._kept[content] = at
        return at

    def trouble(self, where, error):
        """Records that something could not be observed, once for each place and kind of error: other numbers
        within its text are no other kind."""
        self._troubles += 1
        try:
            text = f"{type(error).__name__}: {error}"[:300]
        except Exception:  # noqa: BLE001: an error whose text cannot be made
            text = type(error).__name__
        kind = (where, "".join(c for c in text if not c.isdigit()))
        if kind in self._told or len(self._told) >= _MOST_TROUBLES:
            return
        self._told.add(kind)
        with contextlib.suppress(Exception):
            self.writer.line("trouble", where=where, step=self.step, error=text)

    def end_step(self):
        """Ends the training step after the optimizer's step. Later lines belong to the next step."""
        if self.active or self.fingerprints:
            self.line("step", step=self.step, end_ns=self.now(), microbatches=self.microbatch + 1)
            self.writer.value_files.flush()
        if self.live:
            self.writer.value_files.settle()
            self.live.at_border(self.step)
        self.step += 1
        self.microbatch = -1
        self.layers.restart()
        self.at_border()

    def close(self, why):
        self.running = False
        self.writer.line(
            "end",
            why=why,
            steps=self.step,
            tensors=self._tensors,
            left_out=self.left_out,
            troubles=self._troubles,
            overhead_ns=self.overhead_ns,
            end_ns=self.now(),
        )
        self.writer.close()
        self.memory.close()
