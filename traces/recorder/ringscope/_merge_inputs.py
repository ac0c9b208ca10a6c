# SPDX-License-Identifier: Apache-2.0
"""The tensors of one merge as rows in float64, and the roundoff of the types that held them.

A row is one query token and one head. Shapes and layouts of vLLM, SGLang, FlashInfer, flash-attention and
TransformerEngine all become the same rows.
"""

import math
from dataclasses import dataclass

import torch

_BASES = {"e": 1.0, math.e: 1.0, 2: math.log(2.0), "2": math.log(2.0)}


@dataclass(frozen=True)
class Roundoff:
    """Rounding of a floating point type: its unit roundoff, half its smallest step, and its largest number."""

    name: str
    unit: float
    smallest: float
    largest: float


@dataclass
class Rows:
    """The tensors of a merge. There are R partials, N rows and D features. Everything is float64.

    The shapes are partials [R, N, D], lses [R, N], out [N, D], lse [N] or None, sinks [N] or None.
    The field `shape` is the shape of `out` without features. The field `heads` is its dimension that counts heads.
    """

    partials: torch.Tensor
    lses: torch.Tensor
    out: torch.Tensor
    lse: torch.Tensor | None
    sinks: torch.Tensor | None
    shape: tuple
    heads: int
    out_type: torch.dtype
    out_roundoff: Roundoff
    lse_roundoff: Roundoff

    def place(self, row):
        """Returns the index of a row in `out`, for instance (token, head)."""
        place = []
        for size in reversed(self.shape):
            place.append(int(row % size))
            row //= size
        return tuple(reversed(place))

    def take(self, rows):
        """Returns the given rows as another Rows; `place` of the result has no meaning."""
        return Rows(
            self.partials[:, rows],
            self.lses[:, rows],
            self.out[rows],
            None if self.lse is None else self.lse[rows],
            None if self.sinks is None else self.sinks[rows],
            self.shape,
            self.heads,
            self.out_type,
            self.out_roundoff,
            self.lse_roundoff,
        )


def scale_of(base):
    """Returns ln(base), the factor that turns an lse of this base into natural units."""
    try:
        return _BASES[base]
    except (KeyError, TypeError):
        raise ValueError(f"base={base!r} is unknown; pass 'e' for natural logarithms or 2 for base 2") from None


def roundoff_of(dtype, scale=1.0):
    """Returns the Roundoff of a type. A scale is the factor with which FP8 values were dequantised."""
    info = torch.finfo(dtype)
    smallest = info.smallest_normal * info.eps  # the distance of subnormal numbers
    return Roundoff(str(dtype).removeprefix("torch."), info.eps / 2, smallest / 2 * scale, info.max * scale)


def type_of(name):
    """Returns the torch type that a name such as "bfloat16" or "float8_e4m3fn" means."""
    dtype = getattr(torch, name.removeprefix("torch."), None) if isinstance(name, str) else name
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"out_type={name!r} is no floating point type; pass for instance 'bfloat16'")
    return dtype


def _tensor(value, name):
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if type(value).__module__.split(".")[0] == "numpy":
        if value.dtype.name == "bfloat16":  # of the package ml_dtypes, which torch does not read
            return torch.as_tensor(value.astype("float32")).to(torch.bfloat16)
        return torch.as_tensor(value.copy())
    raise ValueError(f"{name} is a {type(value).__name__}; pass a torch tensor or a NumPy array")


def _stack(value, name, states_dim):
    """Returns the partials one after the other, [R, ...]."""
    if isinstance(value, (list, tuple)):
        tensors = [_tensor(one, f"{name}[{i}]") for i, one in enumerate(value)]
        if not tensors:
            raise ValueError(f"{name} is empty; pass one tensor per partial")
        shapes = {tuple(one.shape) for one in tensors}
        if len(shapes) > 1:
            raise ValueError(f"{name} has the shapes {sorted(shapes)}; pass tensors of one shape, one per partial")
        return torch.stack([one.double() for one in tensors])
    stacked = _tensor(value, name)
    if not -stacked.ndim <= states_dim < stacked.ndim:
        raise ValueError(f"states_dim={states_dim} is no dimension of {name} {list(stacked.shape)}")
    return stacked.movedim(states_dim, 0).double()


def _like_out(lses, shape, name, layout):
    """Returns lses [..., *shape]. Accepts heads before tokens, as vLLM and flash-attention have them."""
    tail = tuple(lses.shape)[-len(shape) :]
    turned = (*shape[:-2], shape[-1], shape[-2]) if len(shape) > 1 else shape
    if layout == "heads_first" and tail == turned:
        return lses.transpose(-1, -2)
    if layout != "heads_first" and tail == shape:
        return lses
    if layout is None and tail == turned:
        return lses.transpose(-1, -2)
    wanted = {None: f"{list(shape)} or {list(turned)}", "heads_first": f"{list(turned)}"}.get(layout, f"{list(shape)}")
    raise ValueError(
        f"{name} has the shape {list(tail)} per partial, but out has {[*shape, 'D']}; pass {name} as {wanted}"
    )


def read_rows(partials, lses, out, lse, sinks, *, heads_dim, states_dim, lse_layout, out_type, out_scale):
    """Returns the Rows of a merge. Raises ValueError if shapes do not fit, with a sentence that says what to pass."""
    if lse_layout not in (None, "like_out", "heads_first"):
        raise ValueError(f"lse_layout={lse_layout!r} is unknown; pass 'like_out', 'heads_first' or None")
    out = _tensor(out, "out")
    if out.ndim < 2 or not out.shape[-1] or not out.is_floating_point():
        raise ValueError(f"out is {out.dtype} {list(out.shape)}; pass floating point [tokens, heads, features]")
    shape = tuple(out.shape[:-1])
    stack = _stack(partials, "partials", states_dim)
    if tuple(stack.shape[1:]) != tuple(out.shape):
        raise ValueError(
            f"partials have the shape {list(stack.shape[1:])} each, but out has {list(out.shape)}; pass partials as "
            f"[R, *out.shape], or name the dimension that counts partials by states_dim"
        )
    stacked_lses = _stack(lses, "lses", states_dim)
    if stacked_lses.shape[0] != stack.shape[0] or stacked_lses.ndim != len(shape) + 1:
        raise ValueError(
            f"lses have the shape {list(stacked_lses.shape)} for {stack.shape[0]} partials; pass one lse per partial, "
            f"each {list(shape)}"
        )
    heads = heads_dim % out.ndim
    if heads == out.ndim - 1 or not -out.ndim <= heads_dim < out.ndim:
        raise ValueError(f"heads_dim={heads_dim} does not count heads in out {list(out.shape)}; pass -2 or 1")
    merged = lse_type = None
    if lse is not None:
        given = _tensor(lse, "lse")
        lse_type = given.dtype
        if given.ndim != len(shape) or not given.is_floating_point():
            raise ValueError(f"lse is {lse_type} {list(given.shape)}; pass floating point {list(shape)}")
        merged = _like_out(given.double(), shape, "lse", lse_layout).reshape(-1)
    return Rows(
        stack.reshape(stack.shape[0], -1, out.shape[-1]),
        _like_out(stacked_lses, shape, "lses", lse_layout).reshape(stack.shape[0], -1),
        out.double().reshape(-1, out.shape[-1]),
        merged,
        _sink_rows(sinks, shape, heads),
        shape,
        heads,
        out_type or out.dtype,
        roundoff_of(out_type or out.dtype, out_scale),
        roundoff_of(lse_type or torch.float32),
    )


def _sink_rows(sinks, shape, heads):
    if sinks is None:
        return None
    sinks = _tensor(sinks, "sinks").double()
    if tuple(sinks.shape) != (shape[heads],):
        raise ValueError(f"sinks have the shape {list(sinks.shape)}; pass one logit per head, [{shape[heads]}]")
    view = [1] * len(shape)
    view[heads] = -1
    return sinks.reshape(view).expand(shape).reshape(-1)
