# SPDX-License-Identifier: Apache-2.0
"""The properties of an operator that are known before its call, and a way to intercept some of PyTorch's operators
without any cost for others."""

import threading

import torch

# The name of a c10d operator in a recording, by the beginning of its own name.
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
# PyTorch decomposes it into other operators. It therefore has no backward of its own, and is gone before PyTorch
# selects a device.
_MATH = "_scaled_dot_product_attention_math"

# The place where PyTorch selects a device for operators without tensors. It has no kernel there for these operators,
# and intercepting them there costs no other operator any time.
_KEYS = ("BackendSelect",)
_KEYS_OF_MATH = ("AutogradCPU", "AutogradCUDA")
# Likewise gone, with the arguments that the operators inside are not given.
_CROSS_ENTROPY = "cross_entropy_loss"


def kind_of(name):
    """Returns the recording's name of an operator of c10d or of a method of ProcessGroup; None for others."""
    plain = name.lstrip("_")
    return next((kind for begin, kind in _KINDS if plain.startswith(begin)), None)


class Operator:
    """An operator. `name` has no namespace; `kind` is the recording's name of a collective or message; `direction` is
    set for attention. The dispatch keys `keys` are the places where the operator can be intercepted."""

    def __init__(self, func, direction=None, keys=_KEYS):
        self.func = func
        self.keys = keys
        self.full_name = func.name()
        self.namespace, self.name = func._schema.name.split("::")
        self.direction = direction
        self.kind = kind_of(self.name) if self.namespace in _COLLECTIVES else None
        self._names = tuple(argument.name for argument in func._schema.arguments)

    @property
    def is_math(self):
        """Reports whether this is attention that returns weights instead of lse."""
        return self.name == _MATH

    @property
    def is_decomposed(self):
        """Reports whether PyTorch decomposes this operator before it selects a device."""
        return self.is_math or self.name == _CROSS_ENTROPY

    @property
    def is_followed(self):
        """Reports whether this is attention without a backward operator of its own; autograd runs other operators."""
        return self.is_math

    def given(self, args, kwargs):
        """Returns the arguments of a call by their names."""
        return {**dict(zip(self._names, args)), **kwargs}

    def lse_of(self, results):
        """Returns attention's lse, [B, H, S] to the base e, or None. cuDNN returns one more dimension. Efficient
        attention returns more rows, or nothing if no gradient is required."""
        if self.is_math or results[1] is None or not results[1].numel():
            return None
        out, lse = results[:2]
        lse = lse.squeeze(-1) if lse.dim() == out.dim() else lse
        return lse[..., : out.size(-2)]

    @staticmethod
    def says(given):
        """Returns the additional fields of this attention's line."""
        return {}


def attention_operators():
    found = []
    for name in _ATTENTION:
        for suffix, direction in (("", "forward"), ("_backward", "backward")):
            packet = getattr(torch.ops.aten, name + suffix, None)
            if packet is not None:
                found.append(Operator(packet.default, direction))
    return [*found, Operator(getattr(torch.ops.aten, _MATH).default, "forward", _KEYS_OF_MATH)]


def decomposed_operators(functions):
    return [Operator(func, keys=_KEYS_OF_MATH) for func in functions]


def collective_operators():
    """Returns the operators in which ranks meet, and the wait for their results."""
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
    """Returns the tensors in nested lists and tuples."""
    found = []
    _collect(value, found)
    return found


def _collect(value, found):
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, found)


def is_of_another(thread):
    """Reports whether the current work belongs to a thread other than `thread` and autograd's threads."""
    return threading.get_ident() != thread and torch._C._current_graph_task_id() == -1


class Gate:
    """A gate in front of operators: while open, calls `seen(operator, args, kwargs, run)` in place of each. Except for
    math attention, the call comes after autograd, autocast and tensor subclasses. It comes on the thread that made the
    gate, and on autograd's threads. `run` calls the operator itself."""

    def __init__(self, operators, seen):
        self._operators = operators
        self._seen = seen
        self._thread = threading.get_ident()
        self._open = []
        self._libraries = {}

    def look(self, looks, chosen=None):
        """Opens the gate, in front of the operators in `chosen` if they are given, or closes it."""
        wanted = [it for it in self._operators if looks and (chosen is None or it in chosen)]
        if wanted == self._open:
            return
        for library in self._libraries.values():
            library._destroy()
        self._open = wanted
        self._libraries = {it.namespace: torch.library.Library(it.namespace, "IMPL") for it in wanted}
        for operator in wanted:
            library = self._libraries[operator.namespace]
            for key in operator.keys:
                library.impl(operator.func, self._before(operator, key), key, with_keyset=True)

    def _before(self, operator, key):
        seen, redispatch, thread = self._seen, operator.func.redispatch, self._thread
        after = torch._C._dispatch_keyset_full_after(getattr(torch._C.DispatchKey, key))

        def on(keys, args, kwargs):
            if operator.is_decomposed:  # PyTorch decomposes it here, also for tensor subclasses
                return operator.func.decompose(*args, **kwargs)
            return redispatch(keys & after, *args, **kwargs)

        def before(keys, *args, **kwargs):
            if is_of_another(thread):
                return on(keys, args, kwargs)
            return seen(operator, args, kwargs, lambda: on(keys, args, kwargs))

        return before
