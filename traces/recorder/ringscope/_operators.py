# SPDX-License-Identifier: Apache-2.0
"""What is known of an operator before it is called, and a way to stand before some of PyTorch's operators that
costs all others nothing."""

import threading

import torch

# What a c10d operator is called in a recording, by how its name begins.
_KINDS = (
    ("allreduce", "all_reduce"),
    ("all_reduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("all_gather", "all_gather"),
    ("reduce_scatter", "reduce_scatter"),
    ("alltoall", "all_to_all"),
    ("all_to_all", "all_to_all"),
    ("broadcast", "broadcast"),
    ("scatter", "scatter"),
    ("gather", "gather"),
    ("reduce", "reduce"),
    ("barrier", "barrier"),
    ("monitored_barrier", "barrier"),
    ("send", "send"),
    ("recv", "receive"),
)
_COLLECTIVES = ("c10d", "_c10d_functional")
_ATTENTION = (
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)
# PyTorch computes it by other operators, so it has no backward of its own, and is gone before a device is chosen.
_MATH = "_scaled_dot_product_attention_math"

# Where a device is chosen for what has no tensor: of these operators PyTorch has nothing there, and no other
# operator takes longer for what stands there.
_KEYS = ("BackendSelect",)
_KEYS_OF_MATH = ("AutogradCPU", "AutogradCUDA")


class Operator:
    """`name` is without its namespace; `kind`: of a collective or message, what a recording calls it;
    `direction`: of attention; `keys`: where in the order of dispatch it can be met."""

    def __init__(self, func, direction=None, keys=_KEYS):
        self.func = func
        self.keys = keys
        self.full_name = func.name()
        self.namespace, self.name = func._schema.name.split("::")
        self.direction = direction
        plain = self.name.lstrip("_")
        found = (kind for begin, kind in _KINDS if plain.startswith(begin))
        self.kind = next(found, None) if self.namespace in _COLLECTIVES else None
        self._names = tuple(argument.name for argument in func._schema.arguments)

    @property
    def is_math(self):
        """Attention that returns weights where others return lse."""
        return self.name == _MATH

    @property
    def is_followed(self):
        """Attention without a backward of its own: autograd runs others."""
        return self.is_math

    def given(self, args, kwargs):
        """What it was called with, by the names of its arguments."""
        return {**dict(zip(self._names, args)), **kwargs}

    def lse_of(self, results):
        """Of attention's: [B, H, S] to the base e, or None. cuDNN's has one dimension more, efficient attention's more
        rows, and none where no gradient is asked for."""
        if self.is_math or results[1] is None or not results[1].numel():
            return None
        out, lse = results[:2]
        lse = lse.squeeze(-1) if lse.dim() == out.dim() else lse
        return lse[..., : out.size(-2)]

    @staticmethod
    def says(given):
        """What a line has of this attention that others do not have."""
        return {}


def attention_operators():
    found = []
    for name in _ATTENTION:
        for suffix, direction in (("", "forward"), ("_backward", "backward")):
            packet = getattr(torch.ops.aten, name + suffix, None)
            if packet is not None:
                found.append(Operator(packet.default, direction))
    return [*found, Operator(getattr(torch.ops.aten, _MATH).default, "forward", _KEYS_OF_MATH)]


def collective_operators():
    """Those in which ranks meet, and the wait for one."""
    found = []
    for full_name in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full_name.partition("::")
        if namespace in _COLLECTIVES:
            name, _, overload = name.partition(".")
            packet = getattr(getattr(torch.ops, namespace), name)
            operator = Operator(getattr(packet, overload or "default"))
            if operator.kind or name == "wait_tensor":
                found.append(operator)
    return found


def tensors_in(value):
    """Those in lists and tuples, however deep."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def is_of_another(thread):
    """Whether this is work of other threads than that one and those on which autograd runs."""
    return threading.get_ident() != thread and torch._C._current_graph_task_id() == -1


class Gate:
    """While it is open, calls `seen(operator, args, kwargs, run)` in the place of each of these operators, where
    autograd, autocast and tensor subclasses are through with it (but for math): on the thread that made it, and
    where that has autograd work. `run` calls the operator itself."""

    def __init__(self, operators, seen):
        self._operators = operators
        self._seen = seen
        self._thread = threading.get_ident()
        self._libraries = {}

    def look(self, looks):
        """Opens or closes it."""
        if looks == bool(self._libraries):
            return
        if looks:
            for namespace in {operator.namespace for operator in self._operators}:
                self._libraries[namespace] = torch.library.Library(namespace, "IMPL")
            for operator in self._operators:
                library = self._libraries[operator.namespace]
                for key in operator.keys:
                    library.impl(operator.func, self._before(operator, key), key, with_keyset=True)
        else:
            for library in self._libraries.values():
                library._destroy()
            self._libraries = {}

    def _before(self, operator, key):
        seen, redispatch, thread = self._seen, operator.func.redispatch, self._thread
        after = torch._C._dispatch_keyset_full_after(getattr(torch._C.DispatchKey, key))

        def on(keys, args, kwargs):
            if operator.is_math:  # here PyTorch makes other operators of it, also for tensor subclasses
                return operator.func.decompose(*args, **kwargs)
            return redispatch(keys & after, *args, **kwargs)

        def before(keys, *args, **kwargs):
            if is_of_another(thread):
                return on(keys, args, kwargs)
            return seen(operator, args, kwargs, lambda: on(keys, args, kwargs))

        return before
