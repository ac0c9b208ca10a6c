# SPDX-License-Identifier: Apache-2.0
"""The logits of a loss in autograd's graph: what made them, and the gradient that backward brings to them."""

import math

import torch

# Operators that change neither a value, beyond its type, nor the order of the values.
_SAME_VALUES = {
    "AliasBackward0",
    "CloneBackward0",
    "ReshapeAliasBackward0",
    "SqueezeBackward1",
    "ToCopyBackward0",
    "UnsafeViewBackward0",
    "UnsqueezeBackward0",
    "ViewBackward0",
}
_PRODUCTS = ("AddmmBackward0", "LinearBackward0", "MmBackward0", "BmmBackward0")
_MOST_NODES = 32
_MOST_NUMBERS = 1 << 28  # of logits, which take less than a second
# Rows of logits whose gradient is compared: enough to show what a target weighs, few enough to be kept until backward.
_ROWS = 64


def product_of(left, right):
    """Returns the sum of the products of two tensors' elements, in fp64 unless both are float32. None: they are too
    large."""
    if left.numel() > _MOST_NUMBERS:
        return None
    left, right = left.detach().reshape(-1), right.detach().reshape(-1)
    if left.dtype == right.dtype == torch.float32:
        return torch.dot(left, right).item()
    parts = zip(left.split(1 << 20), right.split(1 << 20))
    return sum(torch.dot(a.double(), b.double()).item() for a, b in parts)


def _numel(node):
    return math.prod(node._input_metadata[0].shape)


def _before(node):
    """Returns the node whose result this one takes, if it takes only one."""
    taken = [n for n, _ in node.next_functions if n is not None]
    return taken[0] if len(taken) == 1 else None


def _parameter(node):
    """Returns the leaf that a product multiplies with: a transposed or cast parameter; None if it has no gradient."""
    for factor, _ in node.next_functions[1:]:
        for _ in range(4):
            if factor is None or hasattr(factor, "variable"):
                break
            factor = _before(factor)
        if factor is not None and factor.variable.dim() == 2:
            return factor.variable
    return None


class LogitsPath:
    """The nodes from a loss's logits back to the output projection. The earliest node with the same values in the same
    order is `base`. The operators from there to the product are named in `between`. The product's type is `dtype`, None
    if there is none. The projection's weight is `parameter`, None if it needs no gradient."""

    def __init__(self, logits):
        self.base = node = logits.grad_fn
        self.between, self.dtype, self.parameter = [], None, None
        changed = False
        for _ in range(_MOST_NODES):
            if node is None or not node._input_metadata or _numel(node) != logits.numel():
                break
            name = node.name()
            if not changed:
                self.base = node
            if name in _PRODUCTS:
                self.dtype = str(node._input_metadata[0].dtype).removeprefix("torch.")
                self.parameter = _parameter(node)
                break
            if name not in _SAME_VALUES:
                changed = True
                self.between.append(name.removesuffix("0").removesuffix("Backward"))
            node = _before(node)


class LogitsGradient:
    """A comparison of the gradient of some rows of logits with that of a cross entropy. The latter is softmax minus
    the target's distribution, times the weight of one target. `said(fields)` is called in backward.

    The product of that gradient with the logits is one with the log-probabilities, since the rows of the gradient have
    the sum 0. These live until then anyway, because autograd needs them."""

    def __init__(self, logits, log_probabilities, target, counted, smoothing, path, said, counts_rows=False, dim=-1):
        """`counts_rows`: rows without a gradient do not count. Then said also gets a mask `counting` of the others, and
        `each`: compared rows and their weights. `dim`: that of the classes."""
        rows = counted.flatten().nonzero().flatten()
        self._rows = rows[:: max(1, -(-rows.numel() // _ROWS))]
        classes = logits.shape[dim]
        self._shape, self._dim = logits.shape, dim
        some = logits.detach().movedim(dim, -1).reshape(-1, classes)[self._rows].double()
        expected = some.softmax(-1)
        expected -= smoothing / classes
        at = target.flatten()[self._rows].unsqueeze(-1)
        expected.scatter_add_(-1, at, torch.full_like(at, smoothing - 1.0, dtype=torch.float64))
        # Kept in the logits' type at most: the rows of a large vocabulary fill some MB.
        self._expected, self._classes, self._said = expected.float(), classes, said
        self._log_probabilities = None if log_probabilities is None else log_probabilities.detach()
        self._counts_rows = counts_rows
        path.base.register_prehook(self._came)

    def _came(self, gradients):
        gradient, log_probabilities = gradients[0], self._log_probabilities
        self._log_probabilities = None
        if gradient is None or not self._rows.numel():
            return
        self._said(lambda: self._compared(gradient.detach(), log_probabilities))

    def _compared(self, gradient, log_probabilities):
        flat = gradient.reshape(self._shape).movedim(self._dim, -1).reshape(-1, self._classes)
        got, expected = flat[self._rows].double(), self._expected.double()
        facts = {}
        if self._counts_rows:
            counting = flat.abs().amax(-1) > 0
            some = counting[self._rows]
            got, expected, facts = got[some], expected[some], {"counting": counting, "each": ((), ())}
        if not got.numel():
            return {"rows": 0, "weight": {}, "off": None, "product": None, **facts}
        squares = (expected * expected).sum(-1)
        weight = (got * expected).sum(-1) / squares
        rest = got - weight.unsqueeze(-1) * expected
        off = rest.norm() / got.norm() if got.norm() > 0 else got.norm()
        # The gradient of a nearly certain label is little more than rounding.
        is_clear = squares >= squares.max() * 1e-2
        clear = weight[is_clear]
        if not clear.numel():  # no number of the gradient is finite
            return {"rows": 0, "weight": {}, "off": None, "product": None, **facts}
        if self._counts_rows:
            facts["each"] = self._rows[some][is_clear].tolist(), clear.tolist()
        mean = (got * expected).sum() / squares.sum()
        weights = {"least": clear.min().item(), "most": clear.max().item(), "mean": mean.item()}
        product = None if log_probabilities is None else product_of(gradient, log_probabilities)
        return {"rows": len(got), "weight": weights, "off": off.item(), "product": product, **facts}
