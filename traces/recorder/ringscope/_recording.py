# SPDX-License-Identifier: Apache-2.0
"""Installs and removes a session's observers."""

import atexit
import math

import torch
import torch.distributed as dist
from torch.nn.modules import module as modules

from ._annotated import AnnotationObserver
from ._auxiliary import AuxiliaryObserver
from ._buffers import BufferObserver, runs_of
from ._context import ContextObserver
from ._cut_variables import CutVariables
from ._dispatch import Watch
from ._exits import Exits
from ._harmless import check_values, described, guarded
from ._layers import keywords_of_call, owner_of
from ._live import Live
from ._gathered import GatheredAttention
from ._model import ModelObserver
from ._patches import Patches
from ._ring import RingObserver
from ._scattered import Scattered
from ._session import Session
from ._spmd_types import AssertedTypes
from ._stalls import Stalls, asked
from ._standing import Standing
from ._training import LossObserver, OptimizerObserver
from ._works import WorkObserver

_UNREADABLE = object()  # stands for a logged value that is no number
_DECLARED = {
    "mask": ("causal", "full", "window"),
    "loss": ("mean_over_targets",),
    "positions": ("whole_sequence", "each_document"),
    "balance": ("none", "head_tail", "striped", "per_document"),
}


def _checked(declare):
    declare = dict(declare or {})
    window = declare.get("window")
    if (declare.get("mask") == "window") != (isinstance(window, int) and window > 0):
        raise ValueError('declare={"mask": "window", "window": keys that a query sees, itself too}')
    for name, value in declare.items():
        if name == "window":
            continue
        if value not in _DECLARED.get(name, ()):
            known = ", ".join(f"{key}: {' or '.join(may)}" for key, may in _DECLARED.items())
            raise ValueError(f"declare={{{name!r}: {described(value)}}} is unknown; known are {known}")
    return declare


class Recording:
    """A recording from its start to close()."""

    def __init__(
        self,
        folder,
        model,
        steps,
        values="auto",
        max_tensor_bytes=1 << 20,
        budget_bytes=256 << 20,
        declare=None,
        fingerprints=False,
        live=None,
        token=None,
        pause=None,
        stalled_after=None,
    ):
        check_values(steps=steps, declare=declare, live=live, token=token, stalled_after=stalled_after)
        if not isinstance(values, str) or values not in ("auto", "all", "none"):
            raise ValueError(f"values={described(values)} is unknown; known are auto, all and none")
        for name, size in (("max_tensor_bytes", max_tensor_bytes), ("budget_bytes", budget_bytes)):
            if not isinstance(size, int):
                raise ValueError(f"{name}={described(size)} is no number of bytes")
        if model is not None and not isinstance(model, torch.nn.Module):
            raise ValueError(f"model= is no module but {type(model).__name__}")
        declare = _checked(declare)
        live = Live.asked(live, token, pause)
        stalled_after = asked(stalled_after)
        steps = None if steps is None else frozenset(map(int, steps))
        self.session = Session(folder, steps, values, max_tensor_bytes, budget_bytes, declare)
        self.session.fingerprints = bool(fingerprints)
        # A reader gives no advice about an option that was set already.
        self.session.writer.line(
            "options",
            values=values,
            steps=None if steps is None else runs_of(sorted(steps)),
            max_tensor_bytes=max_tensor_bytes,
            budget_bytes=budget_bytes,
            fingerprints=bool(fingerprints),
        )
        self.patches = Patches()
        self.model = self.watch = self.optimizer = self.types = None
        self.standing = self.stalls = self._first_call = None
        try:
            self._begin(model, live, stalled_after)
        except Exception:
            self._remove()
            self.session.close("failed: the recording could not begin")
            raise

    def _begin(self, model, live, stalled_after):
        """Installs the observers."""
        self.ring = RingObserver(self.session, self.patches)
        self.annotations = AnnotationObserver(self.session, self.ring)
        self.buffers = BufferObserver(self.session, self.patches)
        self.context = ContextObserver(self.session, self.patches)
        self.auxiliary = AuxiliaryObserver(self.session)
        self.types = AssertedTypes(self.session, self.patches, self.buffers)
        self.types.begin()
        self.losses = LossObserver(self.session, self.buffers)
        self.optimizer = OptimizerObserver(self.session, self.patches)
        self.optimizer.projections = self.losses.projections
        Scattered(self.session, self.patches)
        if model is not None:
            self._adopt(model)
        else:
            self._first_call = modules.register_module_forward_pre_hook(self._called)
        self._begin_to_watch()
        if dist.is_available() and (live is not None or stalled_after > 0):
            self.standing = Standing(self.session, self.patches)
            if self.watch is not None:
                self.watch.standing = self.standing
            if stalled_after > 0:
                self.stalls = Stalls(self.session, self.standing, stalled_after)
        if live is not None:
            self.session.live = live
            live.begin(self.session, self.standing)
        self.session.at_border = self._border
        self._border()
        self._exits = Exits(self.patches)
        atexit.register(self._at_exit)

    def _begin_to_watch(self):
        self.watch = Watch(
            self.session, self.patches, self.ring, self.annotations, self.losses
        )
        if dist.is_available():
            self.watch.gathered = GatheredAttention(self.session, self.patches, self.annotations, self.buffers)
        collectives = self.watch.collectives
        if collectives:
            gathered = self.watch.gathered
            collectives.gathers = lambda: gathered.gathers
            collectives.gradient_name = self.optimizer.gradient_name
            collectives.clipped_names = self.optimizer.clipped_names
            collectives.wrappers = lambda: self.model.around if self.model else []
            if self.model is not None:
                self.model.convolutions.collectives = collectives
            WorkObserver(self.session, self.patches, collectives, (self.annotations.waited, collectives.travelled.waited))
            self.patches.wrap(torch.autograd, "backward", self.losses.divisors.around)
            annotations, buffers = self.annotations, self.buffers
            CutVariables(
                self.session, lambda: annotations.shared or buffers.shared, self.patches, collectives.gathered_values
            )

    def _border(self):
        """Starts or stops observing at a step border. Layers and operators are observed only in recorded training
        steps, apart from the collectives that Watch.look() names."""
        active = self.session.active
        if self.standing is not None:
            self.standing.moved()
        try:
            self.losses.border()
            self.optimizer.reference.look(active)
            if not active:
                self.session.layers.release()
            self._release_merges()
            if self.model is not None:
                self.model.look(active)
            if self.watch is not None:
                self.watch.look(active)
        except Exception as error:  # noqa: BLE001: the job must go on
            self.session.trouble("border", error)

    def _release_merges(self):
        if self.watch is not None and self.watch.collectives:
            self.watch.collectives.partial_merges.release()

    def _adopt(self, model):
        self.optimizer.set_parameters(model)
        self.optimizer.reference.look(self.session.active)
        self.model = ModelObserver(self.session, model)
        self.model.buffer_name = self.buffers.name_of
        self.model.auxiliary = self.auxiliary
        if self.watch is not None:
            self.model.convolutions.collectives = self.watch.collectives
        self.model.look(self.session.active)
        self.types.parameters(model.named_parameters())
        self.buffers.model = model
        weights = {p.data_ptr(): name for name, p in model.named_parameters()}
        self.losses.embedding_names = lambda: weights
        self.losses.parameter_name = lambda p: self.optimizer.names.get(id(p), "")
        known = [(self.optimizer.names[id(p)], p) for p in model.parameters()]
        self.losses.parameters = lambda: known

    @guarded
    def _called(self, module, args):
        """Hooks every module until one with parameters is called. That module is the job's model, or a part of it that
        the job calls first."""
        if self._first_call is None or next(module.parameters(), None) is None:
            return
        self._first_call.remove()
        self._first_call = None
        model = owner_of(module)
        self._adopt(model)
        if model is not module:
            self.model.enters_by(module)
            self.model.begins_part()
        elif self.model.inner is module:  # its own hooks come too late for this call
            self.model.first_call(module, args, keywords_of_call())

    def _unwatch(self):
        if self.watch is not None:
            self.watch.end()
        self.watch = None

    def log(self, numbers):
        session = self.session
        values = {name: self._number(name, value) for name, value in numbers.items()}
        values = {name: value for name, value in values.items() if value is not _UNREADABLE}
        step = session.step - 1 if session.microbatch < 0 and session.step > 0 else session.step
        wanted = session.fingerprints or session.steps is None or step in session.steps
        if values and session.running and wanted:
            session.line("log", step=step, values=values)

    def _number(self, name, value):
        """Returns the number to record: None when it is not finite, _UNREADABLE when `value` is no number."""
        try:
            check_values(value=value)
            number = float(value.detach().item() if isinstance(value, torch.Tensor) else value)
        except Exception as error:  # noqa: BLE001: the job must go on
            if self.session.running:
                self.session.trouble(f"log({name}=)", error)
            return _UNREADABLE
        return number if math.isfinite(number) else None

    def _at_exit(self):
        import ringscope

        ringscope.stop(self._exits.at_exit())

    def close(self, why):
        atexit.unregister(self._at_exit)
        self._remove()
        self.session.close(why)
        if self.session.live:
            self.session.live.end()

    def _remove(self):
        """Removes the observers, also those of a recording that could not begin."""
        if self.stalls is not None:
            self.stalls.close()
        if self._first_call is not None:
            self._first_call.remove()
        self._release_merges()
        self._unwatch()
        if self.model is not None:
            self.model.remove()
        self.session.layers.release()
        if self.types is not None:
            self.types.end()
        if self.optimizer is not None:
            self.optimizer.remove()
        self.patches.undo()
