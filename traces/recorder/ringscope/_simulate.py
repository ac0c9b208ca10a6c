# SPDX-License-Identifier: Apache-2.0
"""simulate: runs an attention function over shards in one process, merges, and compares with unsharded attention."""

import inspect
import math
from dataclasses import dataclass, field

import torch

from ._merge_check import MergeCheck, check_merge
from ._merge_inputs import roundoff_of, scale_of, type_of
from ._merge_limits import merge as merge_exactly
from ._merge_inputs import read_rows
from ._simulation_plan import attended, owned_tokens, source_rank
from ._simulation_reference import attention, block_mistakes, worst


@dataclass(frozen=True)
class StepVerdict:
    """The verdict on one block: rank `rank` attends the KV block of rank `source` at ring step `step`.

    factor: The worst error divided by its limit. tensor: "out" or "lse", the one that is worst.
    token, head: The global position of the worst token, and its head. said: The mistake in words, if it is known.
    """

    rank: int
    step: int
    source: int
    right: bool
    factor: float
    tensor: str
    token: int | None
    head: int | None
    said: str = ""


@dataclass(frozen=True)
class RankVerdict:
    """The verdict on one rank's merged output against unsharded attention, and on its merge alone."""

    rank: int
    right: bool
    factor: float
    token: int | None
    head: int | None
    merge: MergeCheck


@dataclass
class Simulation:
    """The result of simulate: true if every block, every merge and every rank's output is right."""

    balance: str
    mask: str
    steps: list = field(default_factory=list)
    ranks: list = field(default_factory=list)

    @property
    def right(self):
        return all(one.right for one in self.steps) and all(one.right and one.merge.right for one in self.ranks)

    def __bool__(self):
        return self.right

    def __str__(self):
        lines = [
            f"{'right' if self.right else 'wrong'}: {len(self.ranks)} ranks, {self.balance}, {self.mask}; "
            f"{len(self.steps)} blocks; worst output {max(one.factor for one in self.ranks):.2g} of the limit"
        ]
        for one in (step for step in self.steps if not step.right):
            said = f": {one.said}" if one.said else ""
            lines.append(
                f"  rank {one.rank}, step {one.step}, KV of rank {one.source}: {one.tensor} is {one.factor:.3g} times "
                f"the limit at token {one.token}, head {one.head}{said}"
            )
        for one in self.ranks:
            if not one.merge.right:
                lines.append(f"  rank {one.rank}, merge: {one.merge}")
            if not one.right:
                lines.append(
                    f"  rank {one.rank}, output: {one.factor:.3g} times the limit at token {one.token}, head {one.head}"
                )
        return "\n".join(lines)


@dataclass
class _Setting:
    """The data that all ranks share: whole q, k and v, the plan, and the roundoffs of the limits."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    owned: list
    mask: str
    window: int | None
    scale: float  # of scores
    base: object
    unit: float
    weight_unit: float
    options: dict  # of check_merge


def simulate(
    attend,
    ranks=4,
    balance="head_tail",
    mask="causal",
    *,
    window=None,
    tokens=None,
    heads=4,
    kv_heads=None,
    head_dim=16,
    dtype="float32",
    qkv=None,
    merge=None,
    base="e",
    arithmetic="float32",
    rounded_per_merge=False,
    seed=0,
):
    """Runs your attention function over the shards of a ring, in one process, and compares with fp64 attention.

    attend: A function (q, k, v, mask) → (out, lse) for one block. The inputs q [S, H, D], k and v [T, K, D] have K kv
        heads. The mask is a bool tensor [S, T] that is True where a query attends a key. The results are out
        [S, H, D] and lse [S, H]. Scores are scaled by 1/√D. A query without keys must have lse −inf. Blocks without any pair are not attended. A function that also has the
        parameters q_positions and k_positions gets the global positions [S] and [T].
    ranks: The number of ranks.
    balance: "contiguous", "head_tail" or "striped".
    mask: "full", "causal" or "window"; a window also needs `window`, the number of keys including the query's own.
    tokens: The length of the sequence; by default 16 per rank. Must be a multiple of ranks, of 2·ranks for head_tail.
    heads, kv_heads, head_dim, dtype, seed: Shape, type and seed of normally distributed q, k and v. kv_heads divides
        heads.
    qkv: Your own (q, k, v), [tokens, heads, D] in place of drawn ones.
    merge: Your function (partials, lses) → (out, lse), called with two lists per rank; by default a merge in float32.
    base: The base of the lses that `attend` returns, "e" or 2.
    arithmetic: The type in which `attend` computes scores and sums; "bfloat16" for attention that keeps scores in it.
    rounded_per_merge: See check_merge.

    Returns a Simulation with a StepVerdict per block and a RankVerdict per rank. It is true if all are right, and its
    str() lists what is wrong. Raises ValueError for settings that do not fit together; errors of `attend` pass through.
    """
    whole = _whole(qkv, tokens or 16 * ranks, heads, kv_heads or heads, head_dim, dtype, seed)
    owned = owned_tokens(balance, whole[0].shape[0], ranks)
    attended(mask, window, owned[0][:1], owned[0][:1])
    scale_of(base)
    setting = _Setting(*whole, owned, mask, window, 1 / math.sqrt(whole[0].shape[-1]), base,
                       torch.finfo(type_of(arithmetic)).eps / 2, roundoff_of(whole[0].dtype).unit,
                       {"base": base, "rounded_per_merge": rounded_per_merge})  # fmt: skip
    result = Simulation(balance, mask if window is None else f"window of {window} keys")
    positions = {"q_positions", "k_positions"} <= set(inspect.signature(attend).parameters)
    for rank in range(ranks):
        _run_rank(setting, rank, attend, merge or _merge_in_float32(base), positions, result)
    return result


def _whole(qkv, tokens, heads, kv_heads, head_dim, dtype, seed):
    if qkv is None:
        generator = torch.Generator().manual_seed(seed)
        shapes = ((tokens, heads, head_dim), (tokens, kv_heads, head_dim), (tokens, kv_heads, head_dim))
        qkv = [torch.randn(shape, generator=generator).to(type_of(dtype)) for shape in shapes]
    q, k, v = qkv
    if q.ndim != 3 or k.shape != v.shape or k.shape[0] != q.shape[0] or q.shape[1] % k.shape[1]:
        raise ValueError(
            f"q, k and v have the shapes {list(q.shape)}, {list(k.shape)} and {list(v.shape)}; pass "
            f"[tokens, heads, D] with as many tokens each, and a number of kv heads that divides that of heads"
        )
    return q, k, v


def _merge_in_float32(base):
    scale = scale_of(base)

    def merge(partials, lses):
        x = torch.stack(lses).float() * scale
        x = torch.where(torch.isinf(x), torch.full_like(x, -torch.inf), x)
        lse = torch.logsumexp(x, 0)
        weights = torch.exp(x - torch.where(torch.isinf(lse), torch.zeros_like(lse), lse)).unsqueeze(-1)
        held = torch.where(weights > 0, torch.stack(partials).float(), torch.zeros_like(weights))
        return (weights * held).sum(0).to(partials[0].dtype), lse / scale

    return merge


def _run_rank(setting, rank, attend, merge, positions, result):
    mine = setting.owned[rank]
    q = setting.q[mine]
    partials, lses, exact = [], [], []
    for step in range(len(setting.owned)):
        source = source_rank(rank, step, len(setting.owned))
        theirs = setting.owned[source]
        pairs = attended(setting.mask, setting.window, mine, theirs)
        if not pairs.any():
            continue
        k, v = setting.k[theirs], setting.v[theirs]
        given = {"q_positions": mine, "k_positions": theirs} if positions else {}
        out, lse = attend(q.clone(), k.clone(), v.clone(), pairs.clone(), **given)
        block = attention(q, k, v, pairs, setting.scale, setting.unit, setting.weight_unit)
        result.steps.append(_judge_step(setting, (rank, step, source), (q, k, v, pairs), block, out, lse))
        partials.append(out)
        lses.append(lse)
        exact.append(block)
    merged, merged_lse = merge(list(partials), list(lses))
    check = check_merge(partials, lses, merged, merged_lse, lse_layout="like_out", **setting.options)
    result.ranks.append(_judge_rank(setting, rank, exact, (partials, lses, merged), check))


def _judge_step(setting, place, block_inputs, block, out, lse):
    q, _, _, pairs = block_inputs
    if tuple(out.shape) != tuple(q.shape) or tuple(lse.shape) != tuple(q.shape[:2]):
        raise ValueError(
            f"attend returned out {list(out.shape)} and lse {list(lse.shape)}; return {list(q.shape)} and "
            f"{list(q.shape[:2])}"
        )
    scale = scale_of(setting.base)
    held = pairs.any(1)
    types = roundoff_of(out.dtype), roundoff_of(lse.dtype)
    of_out = worst(out[held], block.out[held], block.out_arithmetic[held], types[0])
    of_lse = worst(lse, block.lse / scale, block.lse_arithmetic / scale, types[1])
    tensor, (factor, at) = ("out", of_out) if of_out[0] >= of_lse[0] else ("lse", of_lse)
    rows = setting.owned[place[0]][held] if tensor == "out" else setting.owned[place[0]]
    right = factor <= 1
    said = "" if right else _explain(setting, block_inputs, block, out, lse, types)
    return StepVerdict(*place, right, factor, tensor, int(rows[at[0]]), at[1], said)


def _explain(setting, block_inputs, block, out, lse, types):
    """Returns the mistake that reproduces a block's numbers, or an empty text."""
    scale = scale_of(setting.base)
    held = block_inputs[3].any(1)

    def fits(wrong_out, natural_lse, unit, rows):
        return (
            worst(out[rows], wrong_out[rows], block.out_arithmetic[rows] * 4, types[0])[0] <= 1
            and worst(lse[rows], natural_lse[rows] / unit, block.lse_arithmetic[rows] * 4, types[1])[0] <= 1
        )

    other = scale_of("e") if scale != 1 else scale_of(2)
    if fits(block.out, block.lse, other, held):
        return f"lse is in base {'e' if other == 1 else 2}, not in base {setting.base}"
    if not held.all() and fits(block.out, block.lse, scale, held):
        return "the lse of a query without keys must be −inf"
    for said, wrong_out, wrong_lse in block_mistakes(*block_inputs, setting.scale):
        if fits(wrong_out, wrong_lse, scale, torch.isfinite(wrong_lse).all(1)):
            return said
    return ""


def _judge_rank(setting, rank, exact, given, check):
    """Compares a rank's merged output with unsharded attention in float64."""
    partials, lses, merged = given
    mine = setting.owned[rank]
    every = torch.arange(setting.q.shape[0])
    pairs = attended(setting.mask, setting.window, mine, every)
    whole = attention(setting.q[mine], setting.k, setting.v, pairs, setting.scale, 0.0, 0.0)
    rows = read_rows([one.out for one in exact], [one.lse for one in exact], merged, None, None, heads_dim=-2,
                     states_dim=0, lse_layout="like_out", out_type=None, out_scale=1.0)  # fmt: skip
    right = merge_exactly(rows, 1.0)
    total = right.lse.reshape(whole.lse.shape)
    limit = right.out_arithmetic.reshape(whole.out.shape)
    size = right.out_size.reshape(whole.out.shape)
    off = torch.zeros_like(whole.lse)
    for block, partial, lse in zip(exact, partials, lses):
        weight = torch.exp(block.lse - torch.where(torch.isinf(total), torch.zeros_like(total), total)).unsqueeze(-1)
        store = roundoff_of(partial.dtype)
        limit = limit + weight * (block.out_arithmetic + store.unit * block.out.abs() + store.smallest)
        held = torch.where(torch.isinf(block.lse), torch.zeros_like(total), block.lse.abs())
        off = torch.maximum(off, block.lse_arithmetic + roundoff_of(lse.dtype).unit * held)
    limit = limit + torch.expm1(2 * off).unsqueeze(-1) * size
    if setting.options["rounded_per_merge"]:
        limit = limit + ((1 + roundoff_of(merged.dtype).unit) ** len(exact) - 1) * size
    factor, at = worst(merged, whole.out, limit, roundoff_of(merged.dtype))
    return RankVerdict(rank, factor <= 1, factor, int(mine[at[0]]), at[1], check)
