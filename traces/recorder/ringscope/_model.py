# SPDX-License-Identifier: Apache-2.0
"""The model as it runs: the active layer, and the positions and angles that it gets."""

import inspect
import weakref

import torch

from ._attention_facts import facts_of
from ._convolutions import Convolutions
from ._harmless import guarded
from ._layers import blocks, in_backward
from ._rotations import positions_behind, positions_of
from ._session import observer
from ._tracing import unless_compiled
from ._unwatched import unwatched

_POSITIONS = ("position_ids", "positions", "input_pos", "pos_ids", "pos")
_COS = ("cos", "freqs_cos")
_SIN = ("sin", "freqs_sin")
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel", "DataParallel")
_TABLES = ("freqs_cis", "rope_cache", "freqs")


_signatures = weakref.WeakKeyDictionary()  # by function, because inspecting a signature is the slowest part of a call


def _signature(method):
    function = getattr(method, "__func__", method)
    if function not in _signatures:
        _signatures[function] = inspect.signature(method)
    return _signatures[function]


def _given(module, args, kwargs):
    """Returns the arguments of a module's call by the parameter names of its forward()."""
    try:
        bound = _signature(module.forward).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return dict(kwargs)
    return {**bound, **bound.pop("kwargs", {})}


def _positions(given):
    """Yields (name, tensor) for each argument with position ids. A floating-point `pos` is an encoding, not ids."""
    for name in _POSITIONS:
        value = given.get(name)
        if isinstance(value, torch.Tensor) and not (name == "pos" and value.is_floating_point()):
            yield name, value


def compiled_within(model):
    """Returns the ids of the modules that run within compiled code. Hooks on them would not be called, and layers that
    share one compiled graph would get one each."""
    found = set()
    for module in model.modules():
        if getattr(module, "_compiled_call_impl", None) is not None:
            found.update(map(id, module.modules()))
        elif type(module).__name__ == "OptimizedModule":
            found.update(map(id, module._orig_mod.modules()))
    return found


def _has_transformers(model):
    """Reports whether a module of the model is from Transformers, inside any wrapper."""
    return any(type(part).__module__.startswith("transformers.") for part in model.modules())


def unwrapped(model):
    """Returns the job's own model inside DistributedDataParallel and similar wrappers, and the wrappers' names."""
    around = []
    while type(model).__name__ in _WRAPPERS:
        around.append(type(model).__name__)
        model = model.module
    return model, around


def _class_of(model):
    """Returns the name of the model's class. fully_shard replaces the class by its own."""
    kinds = type(model).__mro__
    return kinds[2 if kinds[1].__name__ == "FSDPModule" else 0].__name__


def _window_of_all_layers(config):
    """Returns the number of keys that a query sees by Transformers' configuration; None if layers differ."""
    window = getattr(config, "sliding_window", None)
    layers = getattr(config, "layer_types", None) or ()
    alike = all(kind == "sliding_attention" for kind in layers)
    return window if isinstance(window, int) and window > 0 and alike else None


class ModelObserver:
    """Hooks on the root, its blocks and its rotary modules. remove() removes them."""

    def __init__(self, session, model):
        self.session = session
        self._handles = []
        self._described = set()  # layers of which attention_module was written
        self._within = []  # hooks on blocks, while these are observed
        self._entry = None  # a hook on the part that is called first, until the model is called
        self._has_begun = False  # the part began the forward pass of the model's call
        self._has_positions = False  # position ids with a name were seen in this forward pass
        self.convolutions = Convolutions(session)
        self._table = None  # cos and sin that the first layer of this forward pass was given
        model, self.around = unwrapped(model)
        if hasattr(model, "unshard"):
            self.around.append("fully_shard")
        self.inner = model
        session.module_names = {id(module): name for name, module in model.named_modules()}
        self._hook(self._handles, model, self._root_begins, self._root_ended)
        self.describe(model)

    def look(self, within):
        """Starts or stops observing layers and rotary modules. The root is observed during the whole recording."""
        if within == bool(self._within):
            return
        if not within:
            self._release(self._within)
            return
        compiled = compiled_within(self.inner)
        for block in blocks(self.inner):
            if id(block) in compiled:
                continue
            self._hook(self._within, block, self._block_begins, self._block_ended)
            for part in block.children():  # a checkpoint may call these parts again on their own
                if id(part) in compiled:
                    continue
                self._hook(self._within, part, self._part_begins(block), self._part_ended)
        for module in self.inner.modules():
            if "rotary" in type(module).__name__.lower() and id(module) not in compiled:
                handle = module.register_forward_hook(unless_compiled(self._rotary), with_kwargs=True)
                self._within.append(handle)
        for name, module in self.inner.named_modules():
            handle = None if id(module) in compiled else self.convolutions.hook(module, name)
            if handle is not None:
                self._within.append(handle)

    @staticmethod
    def _hook(handles, module, before, after):
        handles.append(module.register_forward_pre_hook(unless_compiled(before), with_kwargs=True))
        handles.append(module.register_forward_hook(unless_compiled(after), always_call=True))

    @staticmethod
    def _release(handles):
        while handles:
            handles.pop().remove()

    def remove(self):
        self._leave_entry()
        self._release(self._within)
        self._release(self._handles)

    @observer
    def describe(self, model):
        config = getattr(model, "config", None)
        sizes = {}
        for name in (
            "model_type",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "vocab_size",
        ):
            value = getattr(config, name, None)
            if isinstance(value, (int, str)):
                sizes[name] = value
        window = _window_of_all_layers(config)
        if window is not None:
            sizes["sliding_window"] = window
        self.session.line(
            "model",
            of=_class_of(model),
            around=self.around,
            library="transformers" if _has_transformers(model) else "torch",
            config=sizes,
            parameters=sum(p.numel() for p in model.parameters()),
        )
        modules = unwatched(model)
        if modules:
            self.session.line("unwatched", modules=modules)

    auxiliary = None  # takes the auxiliary loss of the root's output

    @staticmethod
    def buffer_name(tensor):
        """Returns the name of the cut buffer that contains a tensor. The recording replaces this method."""
        return ""

    def first_call(self, module, args, kwargs):
        """Observes the call of the root in which its hooks are made."""
        self._root_begins(module, args, kwargs)

    def enters_by(self, part):
        """Takes each call of a part of the model for the beginning of a forward pass, until the model itself is called.
        The job may call its parts alone, or the first of them before the model."""
        self._entry = part.register_forward_pre_hook(unless_compiled(self._part_called))

    def _part_called(self, part, args):
        if not in_backward():
            self.begins_part()

    @guarded
    def begins_part(self):
        self._has_begun = True
        self._has_positions = self.session.saves_hooked = False
        self._begins()

    def _begins(self):
        self._table = None
        self.convolutions.begins()
        self.session.microbatch += 1
        self.session.layers.restart()

    def _leave_entry(self):
        if self._entry is not None:
            self._entry.remove()
            self._entry = None

    @guarded
    def _root_begins(self, module, args, kwargs):
        if not in_backward():
            self._leave_entry()
            if not self._has_begun:
                self._begins()
            self._has_begun = False
        self.session.layer = None
        self._has_positions = self.session.saves_hooked = False
        self.root(module, args, kwargs)

    @observer
    def root(self, module, args, kwargs):
        given = _given(module, args, kwargs)
        for name, value in _positions(given):
            self._has_positions = True
            self.session.tensor("position_ids", value, name=name, layer=None)
            self.session.line(
                "given", to="model", name=name, buffer=self.buffer_name(value), **self.session.place()
            )

    @guarded
    def _root_ended(self, module, args, output):
        self.session.layer = None
        self.rotations(output)
        self.convolutions.ended()
        if self.auxiliary is not None:
            self.auxiliary.of_output(output, getattr(self.inner, "config", None))

    @observer
    def rotations(self, output):
        """Records the positions of rotations if the model was given none that have a name. Saved tensors of a
        checkpoint are not read, because that would recompute them."""
        output = getattr(output, "logits", output)
        output = output[0] if isinstance(output, (tuple, list)) and output else output
        if self._has_positions or self.session.saves_hooked or not isinstance(output, torch.Tensor):
            return
        positions = positions_behind(output, self.session.world_size)
        if positions is None and self._table is not None and output.dim() >= 3:
            positions = positions_of(*self._table, output.shape[1], self.session.world_size)
        if positions is not None:
            self.session.tensor("position_ids", positions, name="rotations", layer=None)

    @guarded
    def _block_begins(self, block, args, kwargs):
        self.session.layer = self.session.layers.enter(block)
        self.session.recompute = in_backward()
        if self.session.layer is not None:
            self.facts(self.session.layer, block)
        self.layer(block, args, kwargs)

    @guarded
    def _block_ended(self, block, args, output):
        self.session.layers.leave(block)
        self._left()

    def _part_begins(self, block):
        def begins(module, args, kwargs):
            if in_backward():
                self._again(block)

        return begins

    @guarded
    def _again(self, block):
        self.session.layer, self.session.recompute = self.session.layers.enter(block), True

    @guarded
    def _part_ended(self, module, args, output):
        if in_backward():
            self._left()

    def _left(self):
        self.session.layer = None
        self.session.recompute = False

    @observer
    def facts(self, index, module):
        facts, sinks = facts_of(module)
        if facts and index not in self._described:
            self._described.add(index)
            self.session.line("attention_module", layer=index, **facts)
        if sinks is not None:
            self.session.tensor("sinks", sinks, layer=index)

    @observer
    def layer(self, module, args, kwargs):
        given = _given(module, args, kwargs)
        tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
        pair = given.get("position_embeddings")
        if isinstance(pair, (tuple, list)) and len(pair) == 2:
            tensors["cos"], tensors["sin"] = pair
        for name, value in _positions(given):
            self._has_positions = True
            self.session.tensor("position_ids", value, name=name)
            break
        table = {}
        for what, names in (("cos", _COS), ("sin", _SIN)):
            for name in names:
                if name in tensors:
                    self.session.tensor(what, tensors[name], name=name)
                    table[what] = tensors[name]
                    break
        if self._table is None and len(table) == 2:
            self._table = table["cos"], table["sin"]
        for name in _TABLES:
            if name in tensors and not tensors[name].is_complex():
                self.session.tensor("rotary_table", tensors[name], name=name)

    def _rotary(self, module, args, kwargs, output):
        self.rotary(module, args, kwargs, output)

    @observer
    def rotary(self, module, args, kwargs, output):
        given = _given(module, args, kwargs)
        for name, value in _positions(given):
            self._has_positions = True
            self.session.tensor("rotary_position_ids", value, name=name, keep=True)
        if isinstance(output, (tuple, list)) and len(output) == 2:
            kind = next((value for value in given.values() if isinstance(value, str)), "")  # of several tables
            self.session.record([(f"rotary_{what}", table, {"name": kind}) for what, table in zip(("cos", "sin"), output)])
