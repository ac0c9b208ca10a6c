# SPDX-License-Identifier: Apache-2.0
"""Random merges of partial attention outputs, right ones and ones with a mistake, for check_merge.

Each mistake is computed here by its own formula, without the code that it checks. A mistake that changes no number by
more than rounding does is drawn again.
"""

import math
import random
from dataclasses import dataclass, field

import torch

LN2 = math.log(2.0)
TYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn)
MISTAKES = (
    "WRONG_BASE", "BASE_MIXED", "LEFT_OUT", "DOUBLED", "ONE_ALONE", "WRONG_RANK", "SINKS_LEFT_OUT", "SINKS_REPEATED",
    "NEUTRAL_NAN", "NEUTRAL_ZERO", "PLAIN_SUM", "MEAN", "UNNORMALISED", "MAX_NOT_SUBTRACTED", "LSE_NOT_MERGED",
    "LSE_LAYOUT", "HEADS_PERMUTED", "TOKENS_PERMUTED", "ROUNDED_PER_MERGE",
    "INPUTS_ROUNDED",
)  # fmt: skip
_OBSERVABLE = 4  # roundings of the type by which a mistake must change a row


@dataclass
class Case:
    """One drawn merge: partials [R, S, H, D] and lses [R, S, H] in float64, and how to call check_merge."""

    partials: torch.Tensor
    lses: torch.Tensor
    scale: float
    type: torch.dtype
    sinks: torch.Tensor | None
    rng: random.Random
    mistake: str = ""
    partial: int | None = None
    out: torch.Tensor | None = None
    lse: torch.Tensor | None = None
    options: dict = field(default_factory=dict)

    def __str__(self):
        ranks, tokens, heads, features = self.partials.shape
        said = f"{self.mistake or 'right'} R={ranks} S={tokens} H={heads} D={features} {self.type} base "
        return said + f"{'e' if self.scale == 1 else 2} sinks={self.sinks is not None} partial={self.partial}"


def rounded(values, dtype):
    """Returns values rounded to a type. FP8 saturates, as kernels let it."""
    if dtype is torch.float8_e4m3fn:
        values = values.clamp(-448, 448)
    return values.float().to(dtype).double()


def draw_inputs(rng, mistake):
    """Returns a Case without out and lse."""
    torch.manual_seed(rng.getrandbits(32))
    needs_sinks = mistake.startswith("SINKS")
    ranks = rng.randint(3 if mistake == "ROUNDED_PER_MERGE" else 2, 8)
    tokens, heads = rng.randint(2, 10), rng.randint(1, 6)
    if mistake in ("LSE_LAYOUT", "HEADS_PERMUTED"):
        heads = rng.randint(2, 6)
    shape = (ranks, tokens, heads, rng.choice((8, 16, 32, 64)))
    dtype = rng.choice(TYPES[1:] if mistake == "ROUNDED_PER_MERGE" else TYPES)
    partials = torch.randn(shape, dtype=torch.float64) * rng.choice((0.3, 1.0, 4.0))
    if rng.random() < 0.3:  # partials that are alike, as averages of many values are
        partials = partials * 0.3 + partials.mean(0, keepdim=True) * 2
    lses = torch.randn(shape[:-1], dtype=torch.float64) * rng.choice((0.5, 1.0, 2.0))
    lses += rng.choice((0.0, 3.0, 10.0, -5.0))
    if mistake == "MAX_NOT_SUBTRACTED":
        lses += rng.choice((-140.0, 150.0, 400.0)) + 0 * lses
    if mistake == "NEUTRAL_ZERO":
        lses -= lses.mean() - rng.choice((-1.0, 0.0, 1.0))
    scale = rng.choice((1.0, LN2))
    case = Case(rounded(partials, dtype), lses.float().double(), scale, dtype, None, rng, mistake)
    if mistake.startswith("NEUTRAL") or rng.random() < 0.25:
        _empty(case)
    if needs_sinks or rng.random() < 0.2:
        case.sinks = (torch.randn(heads, dtype=torch.float64) + (lses.mean() * scale)).float().double()
    return case


def _empty(case):
    """Leaves some partials without keys in some rows, with any values there."""
    rng, (ranks, tokens, heads) = case.rng, case.lses.shape
    sign = rng.choice((-1, -1, 1))
    for i in rng.sample(range(ranks), rng.randint(1, ranks - 1)):
        rows = torch.rand(tokens, heads) < rng.choice((0.3, 1.0))
        case.lses[i][rows] = sign * math.inf
        case.partials[i][rows] = rng.choice((0.0, 0.0, math.nan)) if case.mistake != "NEUTRAL_ZERO" else 0.0
    if case.mistake in ("", "NEUTRAL_NAN") and rng.random() < 0.3:  # a token that no partial has keys for
        case.lses[:, 0], case.partials[:, 0] = -math.inf, 0.0


def masses(case, scale=None):
    """Returns the exponents of the partials [R, S, H]: −inf without keys; and their values with 0 there."""
    empty = torch.isinf(case.lses)
    x = torch.where(empty, torch.full_like(case.lses, -math.inf), case.lses * (case.scale if scale is None else scale))
    return x, torch.where(empty.unsqueeze(-1), torch.zeros_like(case.partials), case.partials)


def merged(x, partials, sinks=None, count=1):
    """Returns out and natural lse in float64; a row without keys has 0 and −inf."""
    terms = [x] if sinks is None or count == 0 else [x, (sinks + math.log(count)).expand_as(x[0]).unsqueeze(0)]
    lse = torch.logsumexp(torch.cat(terms), 0)
    weights = torch.exp(x - torch.where(torch.isinf(lse), torch.zeros_like(lse), lse))
    return (weights.unsqueeze(-1) * partials).sum(0), lse


def right_merge(case):
    """Merges in float32 as kernels do: at once, one after the other, or by interpolation. Rounds once."""
    x, partials = masses(case)
    base2 = case.rng.random() < 0.5
    x32, p32 = x.float(), partials.float()
    if base2:
        x32 = x32 * torch.tensor(1 / LN2, dtype=torch.float32)
    ln, exp = (torch.log2, torch.exp2) if base2 else (torch.log, torch.exp)
    states = [(x32[i], p32[i]) for i in range(len(x32))]
    if case.sinks is not None:
        sink = case.sinks.float() * (1 / LN2 if base2 else 1)
        states.append((sink.expand_as(x32[0]).clone(), torch.zeros_like(p32[0])))
    case.rng.shuffle(states)
    if case.options.get("rounded_per_merge"):
        lse, out = _running(states, exp, ln, lambda values: rounded(values, case.type).float())
    else:
        lse, out = case.rng.choice((_at_once, _running, _interpolated))(states, exp, ln)
    natural = lse * torch.tensor(LN2, dtype=torch.float32) if base2 else lse
    case.out = rounded(out, case.type)
    unit = LN2 if case.options.get("lse_base", None) == 2 else 1.0 if "lse_base" in case.options else case.scale
    case.lse = (natural / torch.tensor(unit, dtype=torch.float32)).double()


def _at_once(states, exp, ln):
    x = torch.stack([one for one, _ in states])
    top = x.amax(0)
    top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
    weights = exp(x - top)
    total = weights.sum(0)
    out = sum(weights[i].unsqueeze(-1) * one for i, (_, one) in enumerate(states))
    return ln(total) + top, torch.where((total > 0).unsqueeze(-1), out / total.unsqueeze(-1), 0.0)


def _running(states, exp, ln, store=lambda values: values):
    lse, out = states[0]
    for x, partial in states[1:]:
        top = torch.maximum(lse, x)
        top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
        total = exp(lse - top) + exp(x - top)
        merged_lse = ln(total) + top
        safe = torch.where(torch.isinf(merged_lse), torch.zeros_like(top), merged_lse)
        out = store(exp(lse - safe).unsqueeze(-1) * out + exp(x - safe).unsqueeze(-1) * partial)
        lse = merged_lse
    return lse, out


def _interpolated(states, exp, ln):
    lse, out = states[0]
    for x, partial in states[1:]:
        weight = 1 / (1 + exp(lse - x))
        weight = torch.where(torch.isneginf(x), 0.0, torch.where(torch.isneginf(lse), 1.0, weight)).unsqueeze(-1)
        out = out - weight * (out - partial)
        top = torch.maximum(lse, x)
        safe = torch.where(torch.isinf(top), torch.zeros_like(top), top)
        lse = ln(exp(lse - safe) + exp(x - safe)) + safe
    return lse, out


def observable(case, out):
    """Reports whether a mistake changes a row of `out` [S, H, D] by several roundings of the type."""
    x, partials = masses(case)
    right, _ = merged(x, partials, case.sinks)
    largest = torch.where(torch.isinf(x), torch.zeros_like(x), x).abs().amax()
    unit = torch.finfo(case.type).eps / 2 + (len(x) + 4) * 2.0**-23 * (4 + float(largest))
    size = torch.maximum(right.abs().amax(-1), partials.abs().amax((0, -1)) * (0.25 if case.type is TYPES[3] else 0.01))
    return bool(((out - right).abs().amax(-1) > _OBSERVABLE * unit * size).any()) or not bool(torch.isfinite(out).all())
