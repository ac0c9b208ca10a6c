# SPDX-License-Identifier: Apache-2.0
"""Losses within code that Inductor compiles. It fuses their operators, so no call can be intercepted.

A custom operator in the compiled graph shows the tensors that they are given. It is put there in three steps, so that
no pass of Inductor sees another graph than without the recorder. When the operator is traced, it is named with its
tensors. Before the first pass, this name becomes a note at the nodes of the tensors. After the last pass, the operator
is put behind those of the nodes that Inductor stores anyway; if one is not stored, nothing is put there."""

import json
import sys

import torch

from ._layers import in_backward

# Results that Inductor stores: an external kernel computes them.
_STORED = ("aten.mm.default", "aten.addmm.default", "aten.bmm.default")
# Operators that change no value, or that make a wider type of it.
_SAME_VALUES = ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.alias.default",
                "aten.unsqueeze.default", "aten.squeeze.dim", "prims.convert_element_type.default")  # fmt: skip
_NOTE = "ringscope"
_UNSEEN = "a loss in compiled code is not observed, because its logits are not stored"
_OPTIONS = ("joint_custom_pre_pass", "post_grad_custom_post_pass")

_library = torch.library.Library("ringscope", "DEF")
_library.define("seen(Tensor[] tensors, str facts) -> ()", tags=(torch.Tag.flexible_layout,))
_SEEN = torch.ops.ringscope.seen.default
_receiver = None  # takes (tensors, facts) while a recording observes


def _run(tensors, facts):
    if _receiver is not None and not in_backward():
        _receiver(tensors, json.loads(facts))


_library.impl("seen", _run, "CompositeExplicitAutograd")
torch.library.register_fake("ringscope::seen", lambda tensors, facts: None, lib=_library)
getattr(torch.fx.node, "_side_effectful_functions", set()).add(_SEEN)  # private, which may change


def _note_tensors(graph, limit):
    """Replaces each named operator by notes at the stored tensors that have the values of its tensors."""
    for number, node in enumerate(graph.find_nodes(op="call_function", target=_SEEN)):
        tensors, facts = node.args
        stored = list(map(_stored, tensors))
        forms = [_form(tensor.meta["val"]) for tensor in tensors]
        if None not in (*stored, *forms):
            note = json.dumps({**json.loads(facts), "tensors": forms}), len(tensors)
            for place, tensor in enumerate(stored):
                tensor.meta[_NOTE] = {**tensor.meta.get(_NOTE, {}), (number, place): note}
        else:
            limit(_UNSEEN)
        graph.erase_node(node)


def _form(value):
    """Returns shape and type of a tensor; a size that changes from call to call is -1. None: several change."""
    shape = [size if isinstance(size, int) else -1 for size in value.shape]
    return [shape, str(value.dtype).removeprefix("torch.")] if shape.count(-1) < 2 else None


def _stored(node):
    """Returns the stored tensor that has the values of a node, or None."""
    while node.op == "call_function" and str(node.target) in _SAME_VALUES:
        came = node.args[0]
        narrows = torch.finfo if node.meta["val"].is_floating_point() else torch.iinfo
        if came.meta["val"].dtype != node.meta["val"].dtype and (
            came.meta["val"].is_floating_point() != node.meta["val"].is_floating_point()
            or narrows(came.meta["val"].dtype).bits > narrows(node.meta["val"].dtype).bits
        ):
            return None
        node = came
    if node.op == "placeholder" or (node.op == "call_function" and str(node.target) in _STORED):
        return node
    return None


def _show_tensors(graph, limit):
    """Puts an operator behind the stored tensors of each note of this graph, unless the graph is a backward."""
    from torch._inductor import config

    found = {}
    for node in graph.nodes:
        for (number, place), note in node.meta.pop(_NOTE, {}).items():
            found.setdefault(number, {})[place] = note, node
    if any(node.name.startswith("tangents") for node in graph.find_nodes(op="placeholder")):
        return
    fuses = config.max_autotune or config.max_autotune_gemm or config.triton.cudagraphs
    output = graph.output_node()
    for places in found.values():
        facts, count = next(iter(places.values()))[0]
        stored = [places[at][1] for at in range(count) if at in places]
        if fuses or len(stored) != count or any(_stored(node) is not node for node in stored):
            limit(_UNSEEN)
        else:
            with graph.inserting_before(output):
                shown = graph.call_function(_SEEN, (stored, facts))
                shown.meta["val"] = None


class InductorObserver:
    """While open, names the operators that are traced and takes what compiled code shows of them. Does nothing if the
    job has passes of its own at these places."""

    def __init__(self, patches, limit):
        self._limit = limit
        self._passes = None
        patches.wrap(torch, "compile", self._compile)
        if "torch._inductor.compile_fx" in sys.modules or "torch._dynamo" in sys.modules:
            self._install()

    def _compile(self, original):
        def compile(*args, **kwargs):
            self._install()
            return original(*args, **kwargs)

        return compile

    def _install(self):
        """Sets the options before anything is traced, because the keys of Inductor's caches contain them."""
        if self._passes is not None:
            return
        try:
            from torch._inductor import config
            from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
        except ImportError:
            self._passes = ()
            return
        if any(getattr(config, option, None) is not None for option in _OPTIONS):
            self._passes = ()
            self._limit("losses in compiled code are not observed, because the job has graph passes of its own")
            return

        class Pass(CustomGraphPass):
            def __init__(self, runs, limit):
                self._runs, self._limit = runs, limit

            def __call__(self, graph):
                try:
                    self._runs(graph, self._limit)
                except Exception as error:  # noqa: BLE001: the job must go on
                    for node in graph.find_nodes(op="call_function", target=_SEEN):
                        graph.erase_node(node)
                    self._limit(f"losses in compiled code are not observed: {type(error).__name__}: {error}")

            def uuid(self):
                return get_hash_for_files((__file__,), self._runs.__name__)

            def __deepcopy__(self, memo):  # PyTorch copies all options
                return self

        self._passes = Pass(_note_tensors, self._limit), Pass(_show_tensors, self._limit)
        for option, made in zip(_OPTIONS, self._passes):
            setattr(config, option, made)

    def look(self, receiver):
        """Starts or stops taking what is shown; None: stops."""
        global _receiver
        _receiver = receiver

    def name(self, tensors, **facts):
        """Names an operator that is traced."""
        if not self._passes:
            return
        from torch._inductor import config

        if [getattr(config, option) for option in _OPTIONS] == list(self._passes):
            torch.ops.ringscope.seen(tensors, json.dumps(facts))

    def remove(self):
        self.look(None)
        if self._passes:
            from torch._inductor import config

            for option, made in zip(_OPTIONS, self._passes):
                if getattr(config, option) is made:
                    setattr(config, option, None)


def as_traced(tensors, facts):
    """Returns the stored tensors with the shapes and types that the operator was given."""
    return [
        tensor.reshape(shape).to(getattr(torch, dtype)) for tensor, (shape, dtype) in zip(tensors, facts["tensors"])
    ]
