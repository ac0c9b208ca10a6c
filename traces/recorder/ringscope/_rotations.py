# SPDX-License-Identifier: Apache-2.0
"""The positions by which a model rotates queries and keys, read from autograd's graph. They need no argument or module
with a known name."""

import torch

_MOST_NODES = 20000  # of the graph behind the model's output
_MOST_BEFORE = 64  # between attention and the product that makes a query or key
_PRODUCTS = ("AddmmBackward0", "LinearBackward0", "MmBackward0", "BmmBackward0")
_MOST_JUMPS = 256
_COLUMNS = 8  # of a table, with which all positions are compared


def positions_behind(output, ranks):
    """Returns the position ids [B, S] by which the queries and keys behind a model's output [B, S, …] are rotated. None
    if they cannot be told, or are beyond the tokens of so many `ranks`.

    The fastest angle must be one radian per token. Otherwise every second token could look like every token of another
    scale."""
    if output.grad_fn is None or output.dim() < 3:
        return None
    attention = _first_attention(output.grad_fn)
    if attention is None:
        return None
    for query_or_key, _ in attention.next_functions[:2]:
        for table in _tables(_multiplied(query_or_key), output.shape[1]):
            rows = [_decoded(row, ranks * len(row)) for row in table]
            if all(row is not None for row in rows):
                return torch.stack(rows)
    return None


def positions_of(cos, sin, length, ranks):
    """Returns the position ids [B, S] whose rotations are the rows of two tables with `length` rows, as
    positions_behind() does."""
    cos, sin = _rows(cos, length), _rows(sin, length)
    if cos is None or sin is None or cos.shape != sin.shape:
        return None
    rows = [_decoded(row, ranks * length) for row in torch.complex(cos.double(), sin.double())]
    return torch.stack(rows) if all(row is not None for row in rows) else None


def _first_attention(node):
    """Returns the node of the attention that is farthest from the output."""
    waiting, seen, found = [node], set(), None
    while waiting and len(seen) < _MOST_NODES:
        following = []
        for node in waiting:
            if node in seen:
                continue
            seen.add(node)
            if "ScaledDotProduct" in node.name():
                found = node
            following += [n for n, _ in node.next_functions if n is not None]
        waiting = following
    return found


def _multiplied(node):
    """Returns the constants that multiply between the product that makes a query or key and its attention."""
    waiting, seen, constants = [node], set(), []
    while waiting and len(seen) < _MOST_BEFORE:
        node = waiting.pop(0)
        if node is None or node in seen or node.name() in _PRODUCTS:
            continue
        seen.add(node)
        if node.name() == "MulBackward0":
            saved = (node._saved_self, node._saved_other)
            constants += [value for value in saved if value is not None and not value.requires_grad]
        waiting += [n for n, _ in node.next_functions]
    return constants


def _rows(constant, length):
    """Returns a constant as [B, S, W] if it has a row for each of `length` tokens; else None."""
    if constant.dim() < 2 or constant.shape[-1] < 2:
        return None
    sizes = [size for size in constant.shape[:-1] if size > 1]
    if sizes[-1:] != [length] or len(sizes) > 2:
        return None
    return constant.detach().reshape(-1, length, constant.shape[-1])


def _tables(constants, length):
    """Yields the rotations [B, S, W] among constants: complex numbers, or pairs of cos and sin."""
    parts = [rows for rows in (_rows(constant, length) for constant in constants) if rows is not None]
    real = []
    for part in parts:
        if part.is_complex():
            yield part.to(torch.complex128)
        elif part.is_floating_point() and not any(torch.equal(part, other) for other in real):
            real.append(part.double())
    for cos, sin in ((a, b) for a in real for b in real if a is not b and a.shape == b.shape):
        yield torch.complex(cos, sin)


def _decoded(table, most):
    """Returns the positions [S], below `most`, whose rotations are the rows of `table`, [S, W]; None: it is no such
    table."""
    sizes = table.abs()
    if table.shape[0] < 4 or not (sizes.max() - sizes.min() <= 1e-3 * sizes.max()):
        return None
    table = table / sizes
    steps = table[1:] * table[:-1].conj()
    usual = steps.angle().median(0).values
    close = ((steps - torch.polar(torch.ones_like(usual), usual)).abs() < 1e-3).all(-1)
    if not close.any() or not 0.999 < usual.abs().max() < 1.001:
        return None
    speeds = steps[close].mean(0).angle()
    starts = torch.cat([torch.tensor([0]), (~close).nonzero().flatten() + 1])
    if len(starts) > _MOST_JUMPS:
        return None
    some = slice(None, None, -(-table.shape[1] // _COLUMNS))
    tried = torch.arange(most)[:, None] * speeds[some]
    candidates = torch.polar(torch.ones_like(tried), tried)
    positions = torch.arange(table.shape[0])
    for start, end in zip(starts, [*starts[1:], table.shape[0]]):
        off, at = (candidates - table[start, some]).abs().amax(-1).min(0)
        if off > 1e-2:
            return None
        positions[start:end] += at - start
    return positions
