# SPDX-License-Identifier: Apache-2.0
"""The mistakes of drawn merges, one function each: returns out [S, H, D], the lse in natural units, and the partial."""

import math
import random

import torch
from drawn_merges import LN2, MISTAKES, TYPES, draw_inputs, masses, merged, observable, right_merge, rounded

_LSE_NEEDED = ("BASE_MIXED", "LSE_NOT_MERGED", "WRONG_RANK", "MAX_NOT_SUBTRACTED")
_LEAST_LSE_CHANGE = 1e-3


def _pick(case, count=1):
    """Returns partials that have keys somewhere."""
    held = [i for i in range(len(case.lses)) if torch.isfinite(case.lses[i]).any()]
    return case.rng.sample(held, count) if len(held) >= count else None


def _most_held(x):
    """Returns the largest number of partials with keys in a row."""
    return int(torch.isfinite(x).sum(0).amax())


def wrong_base(case, x, partials):
    factor = case.rng.choice((LN2, 1 / LN2))
    case.lse_unit = case.rng.choice((1.0, LN2))
    return *merged(x * factor, partials, case.sinks), None


def base_mixed(case, x, partials):
    out, lse = merged(x, partials, case.sinks)
    case.lse_unit = LN2 if case.scale == 1 else 1.0
    if case.rng.random() < 0.5:
        _, lse = merged(x * (LN2 if case.scale == 1 else 1 / LN2), partials, case.sinks)
    return out, lse, None


def left_out(case, x, partials):
    chosen = _pick(case, 2)
    if chosen is None:
        return None
    x = x.clone()
    x[chosen[0]] = -math.inf
    return *merged(x, partials, case.sinks), chosen[0]


def doubled(case, x, partials):
    chosen = _pick(case, 2)
    if chosen is None:
        return None
    x = x.clone()
    x[chosen[0]] += LN2
    return *merged(x, partials, case.sinks), chosen[0]


def one_alone(case, x, partials):
    chosen = _pick(case)
    if case.sinks is not None or chosen is None or _most_held(x) < 3:
        return None
    return partials[chosen[0]].clone(), x[chosen[0]].clone(), chosen[0]


def wrong_rank(case, x, partials):
    chosen = _pick(case, 2)
    if chosen is None or _most_held(x) < 3:
        return None
    i, j = chosen
    x, partials = x.clone(), partials.clone()
    what = case.rng.choice(("whole", "values", "weight"))
    if what != "weight":
        partials[i] = partials[j]
        partials[i][torch.isinf(case.lses[j])] = 0
    if what != "values":
        x[i] = x[j]
    return *merged(x, partials, case.sinks), i


def sinks_left_out(case, x, partials):
    return *merged(x, partials), None


def sinks_repeated(case, x, partials):
    return *merged(x, partials, case.sinks, len(x)), None


def neutral_nan(case, x, partials):
    out, lse = merged(x, partials, case.sinks)
    some = [i for i in range(len(x)) if torch.isinf(x[i]).any()]
    if not some:
        return None
    i = case.rng.choice(some)
    out[torch.isinf(x[i])] = math.nan
    lse[torch.isinf(x[i])] = math.nan
    return out, lse, None


def neutral_zero(case, x, partials):
    return *merged(torch.where(torch.isinf(x), torch.zeros_like(x), x), partials, case.sinks), None


def plain_sum(case, x, partials):
    if _most_held(x) < 2:
        return None
    return partials.sum(0), merged(x, partials, case.sinks)[1], None


def mean(case, x, partials):
    return partials.mean(0), merged(x, partials, case.sinks)[1], None


def unnormalised(case, x, partials):
    lse = merged(x, partials, case.sinks)[1]
    top = x.amax(0) if case.sinks is None else torch.maximum(x.amax(0), case.sinks)
    if torch.isinf(top).any() or (case.rng.random() < 0.5 and top.abs().max() < 8):
        top = torch.zeros_like(top)
    return (torch.exp(x - top).unsqueeze(-1) * partials).sum(0), lse, None


def max_not_subtracted(case, x, partials):
    weights = torch.exp(x.float())
    total = weights.sum(0)
    if case.sinks is not None:
        total = total + torch.exp(case.sinks.float())
    out = (weights.unsqueeze(-1) * partials.float()).sum(0) / total.unsqueeze(-1)
    return out.double(), torch.log(total).double(), None


def lse_not_merged(case, x, partials):
    out, _ = merged(x, partials, case.sinks)
    kept = case.rng.choice((x.amax(0), x[0], x[-1]))
    return out, kept, None


def lse_layout(case, x, partials):
    ranks, tokens, heads = x.shape
    x = case.lses.reshape(ranks, heads, tokens).transpose(1, 2) * case.scale
    x = torch.where(torch.isinf(x), torch.full_like(x, -math.inf), x)
    case.lse_right = True
    return *merged(x, partials, case.sinks), None


def _moved(count, rng):
    order = list(range(count))
    while order == sorted(order):
        rng.shuffle(order)
    return order


def heads_permuted(case, x, partials):
    out, lse = merged(x, partials, case.sinks)
    order = _moved(out.shape[1], case.rng)
    return out[:, order], lse[:, order], None


def tokens_permuted(case, x, partials):
    out, lse = merged(x, partials, case.sinks)
    order = _moved(out.shape[0], case.rng)
    return out[order], lse[order], None


def rounded_per_merge(case, x, partials):
    out, lse = partials[0].clone(), x[0]
    for i in range(1, len(x)):
        both = torch.logaddexp(lse, x[i])
        safe = torch.where(torch.isinf(both), torch.zeros_like(both), both)
        one, two = (torch.exp(y - safe).float().unsqueeze(-1) for y in (lse, x[i]))
        out = rounded(one * out.float() + two * partials[i].float(), case.type)
        lse = both
    return out, lse, None


def inputs_rounded(case, x, partials):
    if case.rng.random() < 0.5:
        narrow = rounded(x / case.scale, case.rng.choice((torch.bfloat16, torch.float16))) * case.scale
        return *merged(torch.where(torch.isinf(x), x, narrow), partials, case.sinks), None
    if case.type is not torch.float32:
        return None
    return *merged(x, rounded(partials, case.rng.choice(TYPES[1:])), case.sinks), None


def draw_wrong(seed, number, mistake=None):
    """Returns Case `number` of a seed with a mistake that changes numbers, each mistake in turn if none is stated."""
    mistake = mistake or MISTAKES[number % len(MISTAKES)]
    rng = random.Random(f"{seed}:{number}")
    while True:
        case = draw_inputs(rng, mistake)
        base = "e" if case.scale == 1 else 2
        stated = mistake in ("WRONG_BASE",) or rng.random() < 0.5
        case.options = {"base": base if stated else None, "sinks": case.sinks}
        if mistake == "ROUNDED_PER_MERGE":
            case.sinks = case.options["sinks"] = None
        case.lse_unit, case.lse_right = case.scale, False
        made = globals()[mistake.lower()](case, *masses(case))
        if made is None:
            continue
        out, lse, case.partial = made
        right, right_lse = merged(*masses(case), case.sinks)
        if mistake in ("BASE_MIXED", "LSE_NOT_MERGED"):
            if not bool(((lse / case.lse_unit - right_lse / case.scale).abs() > _LEAST_LSE_CHANGE).any()):
                continue
        elif mistake == "ROUNDED_PER_MERGE":
            size = (out - rounded(right, case.type)).abs() / (torch.finfo(case.type).eps * right.abs() + 1e-3)
            if not bool((size > 1).any()):
                continue
        elif not observable(case, out):
            continue
        case.out = rounded(out, case.type)
        case.lse = (right_lse if case.lse_right else lse) / case.lse_unit
        case.lse = case.lse.float().double()
        if mistake not in _LSE_NEEDED and rng.random() < 0.2:
            case.lse = None
        return case


def draw_right(seed, number):
    """Returns right Case `number` of a seed."""
    rng = random.Random(f"right:{seed}:{number}")
    case = draw_inputs(rng, "")
    if rng.random() < 0.1:
        case.lses += rng.choice((-200.0, 90.0, 500.0))
    base = "e" if case.scale == 1 else 2
    case.options = {"base": base if rng.random() < 0.5 else None, "sinks": case.sinks}
    if rng.random() < 0.1:
        case.options["lse_base"] = rng.choice(("e", 2))
        case.options["base"] = base
    if rng.random() < 0.15:
        case.options["rounded_per_merge"] = True
    right_merge(case)
    if case.sinks is not None and rng.random() < 0.3:  # the first partial's kernel counts the sinks
        _sink_in_first(case)
    return case


def _sink_in_first(case):
    """Moves the sinks into the first partial, where it has keys: its output shrinks and its lse grows. Merges again."""
    x, partials = masses(case)
    if torch.isinf(x[0]).any():
        return
    lse = torch.logaddexp(x[0], case.sinks.expand_as(x[0]))
    case.partials[0] = rounded(partials[0] * torch.exp(x[0] - lse).unsqueeze(-1), case.type)
    case.lses[0] = (lse / case.scale).float().double()
    case.options["sinks_in"] = 1
    case.sinks = None
    right_merge(case)


def arguments(case):
    """Returns positional arguments and options of check_merge, in one of the shapes that it accepts."""
    rng = case.rng
    partials, lses, lse = case.partials.to(case.type), case.lses.float(), case.lse
    out, options = case.out, dict(case.options)
    if case.type is TYPES[3] and rng.random() < 0.5:
        options["out_type"] = "float8_e4m3fn"  # dequantised
        out = out.float()
    else:
        out = out.to(case.type)
    lse = None if lse is None else lse.float()
    shape = rng.choice(("list", "stack", "states", "heads_first"))
    if case.mistake == "LSE_LAYOUT" and out.shape[0] == out.shape[1]:
        options["lse_layout"] = "like_out"  # both layouts are possible otherwise
    if shape == "list":
        return (list(partials), list(lses), out, lse), options
    if shape == "states":
        options["states_dim"] = 1
        return (partials.movedim(0, 1), lses.movedim(0, 1), out, lse), options
    if shape == "heads_first":
        options["lse_layout"] = "heads_first"
        return (partials, lses.transpose(1, 2), out, None if lse is None else lse.T), options
    if case.type in (torch.float32, torch.float16) and rng.random() < 0.5:
        numbers = (partials.numpy(), lses.numpy(), out.numpy(), None if lse is None else lse.numpy())
        return numbers, options
    return (partials, lses, out, lse), options
