# SPDX-License-Identifier: Apache-2.0
"""Merges in float64, and how far rounding takes a right one.

A merge weighs partial i of R by w_i = b^(l_i − L), where L = log_b Σ b^l_i. The limits follow the operations of a
merge in the type of the arithmetic. That type has the unit roundoff u. The limits are worst cases.

A sum or product of n terms has the relative error γ_n = n·u / (1 − n·u) (Higham, Lemma 3.1). The exponent of w_i is a
difference of numbers of size |l_i| and |L|. A change of base takes two roundings more, and a running L takes one per
merge (Blanchard, section 3). The fast exponential of CUDA has an error of at most 2 + ⌊1.173·|x|⌋ ulp (CUDA). An ulp
is at most 2u of the value. Storing a result rounds it once to the type of the tensor.

The sources are these. Higham is N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 2002.
Blanchard is P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and softmax functions,
2021. The journal is the IMA Journal of Numerical Analysis 41. CUDA is the table of intrinsic functions in the CUDA
C++ Programming Guide.
"""

from dataclasses import dataclass

import torch

_EXP_ULPS, _EXP_ULPS_PER_UNIT = 2, 1.173


@dataclass
class Merged:
    """A merge in float64. The shapes are out [N, D] and lse [N]; the lse is in natural units.

    The masses [R, N] are exp(x_i − top), and 0 for an empty partial. The sink [N] is the same for the sink. The shift
    is top [N].
    """

    out: torch.Tensor
    lse: torch.Tensor
    masses: torch.Tensor
    sink: torch.Tensor
    top: torch.Tensor
    out_size: torch.Tensor  # [N, D] Σ w_i·|partial_i|
    out_arithmetic: torch.Tensor  # [N, D] limit of the arithmetic, without storing
    lse_arithmetic: torch.Tensor  # [N]


def empties(lses):
    """Returns where a partial has no keys, [R, N]. Kernels say so by −inf; flash-attention 2 says +inf."""
    return torch.isinf(lses)


def clean(partials, lses):
    """Returns the partials with 0 in place of what a partial without keys holds, which no merge may read."""
    return torch.where(empties(lses).unsqueeze(-1), torch.zeros_like(partials), partials)


def merge(rows, scale, sinks_in=0, arithmetic=torch.float32):
    """Returns the Merged of rows whose lses are in the base with ln(base) = scale.

    sinks_in: The number of partials whose lse includes the sink already.
    """
    empty = empties(rows.lses)
    x = torch.where(empty, torch.full_like(rows.lses, -torch.inf), rows.lses * scale)
    sink_x = torch.full_like(x[0], -torch.inf) if rows.sinks is None else rows.sinks
    top = torch.maximum(x.amax(0), sink_x)
    top = torch.where(torch.isneginf(top), torch.zeros_like(top), top)
    masses = torch.exp(x - top)
    sink = torch.exp(sink_x - top)
    missing = (1 - sinks_in) * sink if rows.sinks is not None else torch.zeros_like(top)
    total = masses.sum(0) + missing
    some = total > 0
    weights = torch.where(some, masses / torch.where(some, total, torch.ones_like(total)), torch.zeros_like(masses))
    partials = clean(rows.partials, rows.lses)
    out = torch.einsum("rn,rnd->nd", weights, partials)
    lse = torch.where(some, top + torch.log(total), torch.full_like(top, -torch.inf))
    shares = masses.sum(0) + missing.abs()  # more than total where a sink is taken out again
    size = torch.einsum("rn,rnd->nd", weights, partials.abs())
    out_limit, lse_limit = _arithmetic(x, top, lse, masses, total, shares, weights, partials, size, arithmetic)
    return Merged(out, lse, masses, sink, top, size, out_limit, lse_limit / scale)


def _arithmetic(x, top, lse, masses, total, shares, weights, partials, out_size, arithmetic):
    """Returns the limits of out [N, D] and of the natural lse [N] for arithmetic in the given type."""
    unit = torch.finfo(arithmetic).eps / 2
    ranks = x.shape[0]
    finite = torch.where(torch.isinf(x), torch.zeros_like(x), x).abs()
    size = torch.maximum(finite.amax(0), torch.where(torch.isinf(lse), torch.zeros_like(lse), lse.abs()))
    exponent = unit * (2 * finite + (ranks + 2) * size)
    distance = torch.where(torch.isinf(x), torch.zeros_like(x), (x - top).abs())
    relative = exponent + 2 * unit * (_EXP_ULPS + _EXP_ULPS_PER_UNIT * distance)
    steps = (2 * ranks + 4) * unit / (1 - (2 * ranks + 4) * unit)
    safe = torch.where(total > 0, total, torch.ones_like(total))
    # The sink has at most the largest exponent error; it is part of the denominator alone.
    errors = (masses * relative).sum(0) + (shares - masses.sum(0)) * relative.amax(0)
    denominator = (errors + steps * shares) / safe
    numerator = torch.einsum("rn,rnd->nd", weights * relative, partials.abs())
    # A running merge out + w·(partial − out) rounds differences of whole partials, whatever their weight.
    held = torch.where(torch.isinf(x), torch.zeros_like(x), torch.ones_like(x))
    running = 2 * ranks * unit * (held.unsqueeze(-1) * partials.abs()).amax(0)
    out_limit = numerator + (denominator + steps).unsqueeze(-1) * out_size + running
    return out_limit, denominator + unit * (ranks + 3) * (size + 1)


def stored(predicted, arithmetic, roundoff):
    """Returns the limit of a tensor that is stored in a type: the arithmetic's, and one rounding."""
    return arithmetic + roundoff.unit * (predicted.abs() + arithmetic) + roundoff.smallest


def ratios(got, predicted, limit, largest):
    """Returns |got − predicted| / limit. It is 0 where both are infinite alike, and inf where one is not finite.

    A prediction above the largest number of the type may be stored as that number, as infinity or as NaN.
    """
    ratio = (got - predicted).abs() / limit
    same = (got == predicted) | ((predicted.abs() > largest) & ~(got.abs() < largest * 0.99))
    ratio = torch.where(same, torch.zeros_like(ratio), ratio)
    return torch.where(torch.isnan(ratio), torch.full_like(ratio, torch.inf), ratio)
