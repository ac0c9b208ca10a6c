# SPDX-License-Identifier: Apache-2.0
"""The layers of a job: the places from which it calls attention, numbered in the order of their first call."""

import sys
import types

import torch
from torch import nn

from ._exchanges import storage_of
from ._hashing import gridsum64
from ._tracing import unless_compiled

_LISTS = (nn.ModuleList, nn.ModuleDict, nn.Sequential)
_CALL = nn.Module._call_impl.__code__


def in_backward():
    """Reports whether autograd runs, so that a forward operator is part of a recomputation."""
    return torch._C._current_graph_task_id() != -1


def blocks(model):
    """Returns the modules in the outermost lists of a model that have parts: decoder and encoder layers. Experts are in
    lists within such a layer."""
    found = {}

    def look(module, listed):
        for child in module.children():
            if isinstance(child, _LISTS):
                look(child, True)
            elif listed and next(child.children(), None) is not None:
                found[id(child)] = child
            else:
                look(child, False)

    look(model, isinstance(model, _LISTS))
    return list(found.values())


def is_module_call(frame):
    """Reports whether a frame is PyTorch's call of a module."""
    return frame.f_code is _CALL


def _running():
    """Returns the modules that are being called, the innermost first."""
    modules, frame = [], sys._getframe(1)
    while frame is not None:
        if is_module_call(frame):
            modules.append(frame.f_locals["self"])
        frame = frame.f_back
    return modules


def keywords_of_call():
    """Returns the keyword arguments of the innermost module that is being called."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not _CALL:
        frame = frame.f_back
    return {} if frame is None else dict(frame.f_locals.get("kwargs", {}))


def _modules_in(frame):
    """Yields the modules among the variables of a function and of its file, and among the attributes of its objects."""
    objects = [*frame.f_locals.values()]
    for value in (*objects, *frame.f_globals.values()):
        if issubclass(type(value), nn.Module):
            yield value
    for value in objects:
        if not isinstance(value, (type, types.ModuleType, nn.Module)):
            held = getattr(value, "__dict__", None)
            yield from (v for v in (held or {}).values() if issubclass(type(v), nn.Module))


def owner_of(module):
    """Returns the largest module that contains `module` and that the running functions know, if `module` is a single
    operation such as an embedding; else `module`."""
    if next(module.children(), None) is not None:
        return module
    owner, parts, frame = module, 0, sys._getframe(1)
    while frame is not None:
        for value in list(_modules_in(frame)):
            within = [] if value is owner else list(value.modules())
            if len(within) > max(parts, 1) and any(part is module for part in within):
                owner, parts = value, len(within)
        frame = frame.f_back
    return owner


def _agree(some, others):
    """Reports whether two lists of modules, the innermost first, differ only in the number of modules around them."""
    shared = min(len(some), len(others))
    return some[:shared] == others[:shared]


class Layers:
    """The numbers of layers. A layer is a call of the module that calls attention, within the calls around it, so a
    module that several layers share counts once for each. Attention outside of all modules, and further attention
    within one call, are counted in their order."""

    def __init__(self, begun):
        self._begun = begun  # is called with each new number and the modules around the attention
        self._numbers = {}  # by the ids of the modules, the call among equal ones, and the attention within it
        self._by_hash = {}  # of the query, for layers that their modules do not distinguish
        self._handles = {}
        self._blocks = {}  # number of the first attention of a block, None: it calls no attention
        self._block = None
        self.restart()

    def restart(self):
        """Begins a forward pass of the model, in which the same layers come again."""
        self._entries = {}
        self._last = (None, None, None)

    def release(self):
        """Removes the hooks."""
        while self._handles:
            self._handles.popitem()[1].remove()

    def enter(self, block):
        """Returns the layer of a block that is being called; None if it calls no attention. Before its first attention
        the block gets the number that this attention will have."""
        if not in_backward():
            self._block = id(block)
        return self._blocks.get(id(block), len(set(self._numbers.values())))

    def leave(self, block):
        """Remembers that the call of a block has ended."""
        self._block = None
        self._blocks.setdefault(id(block), None)

    def find(self, query, exchanged=None):
        """Returns the layer of a forward attention that is being called. With `exchanged`, the number of collectives
        before it, it may be one of several operators of one attention. These share their query or exchange blocks."""
        modules = _running()
        ids = tuple(map(id, modules))
        if in_backward():
            return self._again(ids, query)
        entry = self._entry(modules[0]) if modules else 0
        place, storage = (ids, entry), storage_of(query)
        before, last, nth = self._last
        nth = nth + 1 if before == place else 0
        if nth and exchanged is not None and last is not None:
            nth -= last[0] == storage or last[1] != exchanged
        self._last = (place, None if exchanged is None else (storage, exchanged), nth)
        number = self._number((*place, nth), modules)
        if entry > 1 or nth:
            self._by_hash[gridsum64(query)] = number
        if self._block is not None:
            self._blocks.setdefault(self._block, number)
        return number

    def _number(self, key, modules):
        """Returns the number of a key. The same module may be called with and without a wrapper around the model."""
        if key not in self._numbers:
            ids, *nth = key
            alike = (n for (of, *at), n in self._numbers.items() if at == nth and ids and _agree(of, ids))
            number = next(alike, None)
            self._numbers[key] = len(set(self._numbers.values())) if number is None else number
            if number is None:
                self._begun(self._numbers[key], modules)
        return self._numbers[key]

    def _entry(self, module):
        """Returns how often a module was called in this forward pass, and counts its later calls."""
        key = id(module)
        if getattr(module, "_compiled_call_impl", None) is not None:
            return 1  # a hook would become part of the compiled code
        if key not in self._handles:
            self._entries[key] = 1

            def enters(*_):
                if not in_backward():
                    self._entries[key] = self._entries.get(key, 0) + 1

            self._handles[key] = module.register_forward_pre_hook(unless_compiled(enters))
        return self._entries.get(key, 1)

    def _again(self, ids, query):
        """Returns the layer that a checkpoint recomputes, of whose modules only the inner ones may be called again."""
        known = list(dict.fromkeys(n for (of, _, _), n in self._numbers.items() if _agree(of, ids)))
        if len(known) > 1:
            known = [self._by_hash.get(gridsum64(query), known[0])]
        return known[0] if known else None
