# SPDX-License-Identifier: Apache-2.0
"""Mistakes of order: heads or tokens that were exchanged, lses read in the other layout, and roundings in between."""

import torch

from ._merge_limits import clean, empties, merge, ratios, stored
from ._merge_mistakes import Mistake, MergeKind

_MOST_PLACES = 4096  # heads or tokens whose order is searched
_MOST_FEATURES = 64  # features with which orders are compared


def rounded_merges(rows, scale, sinks_in):
    """Yields out [N, D] of running merges that round after each merge, from every start and in both directions.

    Also yields sums of weighted partials that are rounded before and after they are added."""
    ranks = rows.partials.shape[0]
    orders = [[(start + step * turn) % ranks for turn in range(ranks)] for start in range(ranks) for step in (1, -1)]
    partials = clean(rows.partials, rows.lses)
    x = torch.where(empties(rows.lses), torch.full_like(rows.lses, -torch.inf), rows.lses * scale)
    right = merge(rows, scale, sinks_in)
    total = torch.log((right.masses.sum(0))) + right.top
    factor = torch.where(torch.isinf(right.lse), torch.zeros_like(total), torch.exp(total - right.lse)).unsqueeze(-1)

    def narrow(values):
        return values.float().to(rows.out_type).double()

    for order in orders:
        yield narrow(_running(partials, x, order, narrow) * factor)
        yield _summed(partials, torch.exp(x - torch.where(torch.isinf(right.lse), 0.0, right.lse)), order, narrow)


def _running(partials, x, order, narrow):
    out, lse = narrow(partials[order[0]]), x[order[0]]
    for i in order[1:]:
        merged = torch.logaddexp(lse, x[i])
        safe = torch.where(torch.isinf(merged), torch.zeros_like(merged), merged)
        out = narrow(torch.exp(lse - safe).unsqueeze(-1) * out + torch.exp(x[i] - safe).unsqueeze(-1) * partials[i])
        lse = merged
    return out


def _summed(partials, weights, order, narrow):
    out = torch.zeros_like(partials[0])
    for i in order:
        out = narrow(out + narrow(weights[i].unsqueeze(-1) * partials[i]))
    return out


def find_permutation(rows, judged, search):
    """Returns the Mistake of rows in another order, or None."""
    orders = ((MergeKind.HEADS_PERMUTED, "head", _by_heads), (MergeKind.TOKENS_PERMUTED, "token", _by_tokens))
    for kind, name, places in orders:
        found = _matched(rows, judged, places)
        if found is not None:
            moved = [f"{name} {i} holds {name} {int(j)}" for i, j in enumerate(found) if i != int(j)]
            return Mistake(kind, detail=", ".join(moved[:3]) + (", …" if len(moved) > 3 else ""))
    return _other_layout(rows, judged, search) or _heads_of_lse(rows, judged, search)


def _by_heads(tensor, rows):
    return tensor.reshape(*rows.shape, -1).movedim(rows.heads, 0).reshape(rows.shape[rows.heads], -1)


def _by_tokens(tensor, rows):
    """Returns one line per token, that is per last dimension that does not count heads."""
    tokens = [at for at in range(len(rows.shape)) if at != rows.heads][-1:]
    if not tokens:
        return None
    return tensor.reshape(*rows.shape, -1).movedim(tokens[0], 0).reshape(rows.shape[tokens[0]], -1)


def _matched(rows, judged, places):
    """Returns for each place the one that it holds, if `out` is the right merge in another order."""
    right = judged.right
    limit = stored(right.out, right.out_arithmetic, rows.out_roundoff)
    got, predicted, limit = (places(tensor, rows) for tensor in (rows.out, right.out, limit))
    if got is None or not 2 <= len(got) <= _MOST_PLACES:
        return None
    order = []
    probe = torch.linspace(0, got.shape[1] - 1, min(got.shape[1], _MOST_FEATURES)).long()
    for line in got:
        near = torch.nonzero(((line[probe] - predicted[:, probe]).abs() <= limit[:, probe]).all(1)).flatten()
        largest = rows.out_roundoff.largest
        whole = [int(at) for at in near if ratios(line, predicted[at], limit[at], largest).amax() <= 1]
        free = [at for at in whole if at not in order]
        if not free:
            return None
        order.append(len(order) if len(order) in free else free[0])
    return order


def reread(lses, shape):
    """Yields lses [R, N] of rows shaped `shape`, whose memory is read in the other layout without being transposed."""
    if len(shape) > 1:
        tokens, heads = shape[-2:]
        for first, second in ((tokens, heads), (heads, tokens)):
            yield lses.reshape(len(lses), -1, first, second).transpose(-1, -2).reshape(len(lses), -1)


def _other_layout(rows, judged, search):
    """Explains weights whose lses were read in the other layout."""
    for lses in reread(rows.lses, rows.shape):
        if _fits(rows, judged, search, lses):
            return Mistake(MergeKind.LSE_LAYOUT)
    return None


def _heads_of_lse(rows, judged, search):
    """Explains weights whose heads are shifted or reversed against those of the partials."""
    count = rows.shape[rows.heads]
    whole = rows.lses.reshape(-1, *rows.shape)
    turns = [whole.roll(shift, rows.heads + 1) for shift in range(1, count)] + [whole.flip(rows.heads + 1)]
    for turned in turns:
        if _fits(rows, judged, search, turned.reshape(len(rows.lses), -1)):
            return Mistake(MergeKind.HEADS_PERMUTED, detail="the lses have other heads than the partials")
    return None


def _fits(rows, judged, search, lses):
    at = search._sample(judged.bad, 96)
    part = rows.take(at)
    part.partials, part.lses = clean(part.partials, part.lses), lses[:, at]
    part.lse = None
    right = merge(part, judged.scale, search.sinks_in, search.arithmetic)
    limit = stored(right.out, right.out_arithmetic, rows.out_roundoff)
    return bool((ratios(part.out, right.out, limit, rows.out_roundoff.largest) <= 1).all())
