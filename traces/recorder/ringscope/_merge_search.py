# SPDX-License-Identifier: Apache-2.0
"""Searches the mistake that reproduces a wrong merge: every candidate is computed, and the closest one is named."""

from dataclasses import dataclass, replace

import torch

from ._merge_limits import clean, empties, merge, ratios, stored
from ._merge_mistakes import _LN2, Mistake, MergeKind, candidates_of
from ._merge_orders import find_permutation, reread, rounded_merges

_MOST_ROWS = 96  # wrong rows that candidates are compared with
_MOST_RIGHT_ROWS = 32
_SCALES = (1.0, _LN2, 1 / _LN2, _LN2 * _LN2)  # bases e and 2, and lses that were converted twice
_CLOSE = 1.25  # candidates whose distances differ by less are equally close; the simpler one is named
_NARROW = (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2)
_LARGE = 85.0  # natural exponents beyond it overflow or vanish in float32, whose limits are 88.7 and −87.3


@dataclass
class Judged:
    """Rows under one base: the right merge, and each row's error divided by its limit."""

    base: object
    scale: float
    lse_scale: float
    right: object
    out: torch.Tensor  # [N]
    lse: torch.Tensor  # [N]; 0 without lse

    @property
    def bad(self):
        return (self.out > 1) | (self.lse > 1)


@dataclass
class Found:
    """A mistake, its distance from the numbers (1 is the limit of rounding), and the tensors that have it."""

    mistake: Mistake
    distance: float
    tensor: str
    base: object
    contradicted: float = 0.0


def limit_of(rows, right, predicted, arithmetic, per_merge):
    """Returns the limit of stored outputs.

    A running merge that rounds each time rounds partial sums, which are at most Σ w_i·|partial_i|.
    """
    limit = stored(predicted, arithmetic, rows.out_roundoff)
    if not per_merge:
        return limit
    ranks, unit = rows.partials.shape[0], rows.out_roundoff.unit
    return limit + ((1 + unit) ** ranks - 1) * right.out_size + ranks * rows.out_roundoff.smallest


def judge(rows, base, scale, lse_scale, sinks_in, arithmetic, per_merge):
    """Returns the Judged of rows under one base."""
    right = merge(rows, scale, sinks_in, arithmetic)
    limit = limit_of(rows, right, right.out, right.out_arithmetic, per_merge)
    out = ratios(rows.out, right.out, limit, rows.out_roundoff.largest).amax(-1)
    return Judged(base, scale, lse_scale, right, out, lse_ratios(rows, right.lse, right, scale, lse_scale))


def lse_ratios(rows, natural, right, scale, lse_scale):
    """Returns |lse − predicted| / limit per row; `natural` is the prediction in natural units, [N] or [K, N]."""
    if rows.lse is None:
        return torch.zeros_like(natural)
    predicted = natural / lse_scale
    limit = stored(predicted, right.lse_arithmetic * scale / lse_scale, rows.lse_roundoff)
    limit = torch.where(torch.isinf(limit), torch.ones_like(limit), limit)
    ratio = ratios(rows.lse, predicted, limit, torch.inf)
    # A kernel that says +inf for a partial without keys may say it of a row without keys.
    plus = torch.isneginf(natural) & torch.isposinf(rows.lse) & torch.isposinf(rows.lses).any(0)
    return torch.where(plus, torch.zeros_like(ratio), ratio)


class Search:
    """The search in rows whose merge is wrong under every base that was asked for."""

    def __init__(self, rows, judged, sinks_in, arithmetic, per_merge):
        self.rows, self.judged = rows, judged
        self.sinks_in, self.arithmetic, self.per_merge = sinks_in, arithmetic, per_merge
        self.candidates = candidates_of(rows.partials.shape[0], rows.sinks is not None, sinks_in)

    def find(self):
        """Returns the Found that is closest to the numbers."""
        for step in (self._inputs, self._not_finite):
            if found := step():
                return found
        found = [one for judged in self.judged for one in self._of_base(judged)]
        found += self._other_bases()
        if any(one.mistake.kind is not MergeKind.ROUNDED_PER_MERGE for one in found):
            return self._closest(found)
        for judged in (one for one in self.judged if (one.out > 1).any()):
            if permuted := find_permutation(self.rows, judged, self):
                return Found(permuted, 1.0, self._tensor(judged), judged.base)
        found = found or [one for judged in self.judged for one in self._rounded_inputs(judged)]
        if found:
            return self._closest(found)
        judged = self.judged[0]
        return Found(Mistake(MergeKind.UNKNOWN), torch.inf, self._tensor(judged), judged.base)

    def _tensor(self, judged):
        out, lse = bool((judged.out > 1).any()), bool((judged.lse > 1).any())
        return "out and lse" if out and lse else "out" if out else "lse"

    @staticmethod
    def _closest(found):
        best = min(one.distance for one in found)
        close = [one for one in found if one.distance <= _CLOSE * best + 0.02]
        return min(close, key=lambda one: one.contradicted)  # the first of equals, which is the simplest

    def _inputs(self):
        rows, judged = self.rows, self.judged[0]
        broken = ~empties(rows.lses) & (~torch.isfinite(rows.partials).all(-1) | torch.isnan(rows.lses))
        if not (broken & judged.bad).any():
            return None
        partial = int(torch.nonzero((broken & judged.bad).any(1))[0])
        return Found(Mistake(MergeKind.INPUT_NOT_FINITE, partial), 0.0, "out", judged.base)

    def _not_finite(self):
        return next(filter(None, map(self._not_finite_in, self.judged)), None)

    def _not_finite_in(self, judged):
        """Explains rows that are NaN, infinite or 0 though the merge is not."""
        rows = self.rows
        lost = ~torch.isfinite(rows.out).all(-1)
        if rows.lse is not None:
            lost |= torch.isnan(rows.lse) | (torch.isposinf(rows.lse) & torch.isfinite(judged.right.lse))
        lost &= judged.bad
        empty = empties(rows.lses)
        if self._overflowed(judged, lost):
            return Found(Mistake(MergeKind.MAX_NOT_SUBTRACTED), 0.0, self._tensor(judged), judged.base)
        if lost.any() and torch.equal(lost, judged.bad) and bool(empty.any(0)[lost].all()):
            partial = int(empty[:, lost].sum(1).argmax())
            return Found(Mistake(MergeKind.NEUTRAL_NAN, partial), 0.0, self._tensor(judged), judged.base)
        return None

    def _overflowed(self, judged, lost):
        """Reports whether all wrong rows are those whose exp(lse) overflows, vanishes, or loses bits in float32."""
        rows, bad = self.rows, judged.bad
        top = judged.right.lse
        large, small = top > _LARGE, (top < -_LARGE) & torch.isfinite(top)
        zero = (rows.out == 0).all(-1)
        # Numbers below 2^−126 have an absolute error of up to 2^−149 for each partial.
        blurred = 2 * len(rows.lses) * torch.exp(-149 * _LN2 - torch.clamp(top, min=-600))
        held = clean(rows.partials, rows.lses).abs().amax((0, -1))
        near = (rows.out - judged.right.out).abs().amax(-1) <= blurred * held
        return bool(bad.any()) and bool(((large | small) & (lost | zero) | small & near)[bad].all())

    def _sample(self, chosen, most):
        at = torch.nonzero(chosen).flatten()
        return at if len(at) <= most else at[torch.linspace(0, len(at) - 1, most).long()]

    def _of_base(self, judged):
        """Returns the candidates that explain every wrong row in this base."""
        if not (judged.out > 1).any():
            return self._of_lse(judged)
        found = self._weighed(judged)
        if not self.per_merge:
            found += self._rounded(judged)
        return found

    def _weighed(self, judged):
        bad = self._sample(judged.bad, _MOST_ROWS)
        good = self._sample(~judged.bad, _MOST_RIGHT_ROWS)
        out, lse = self._compare(judged, torch.cat([bad, good]))
        count = len(bad)
        own = torch.minimum(lse[:, :count], judged.lse[bad])  # the lse may be right though out is not
        only = torch.tensor([one.out_only for one in self.candidates.mistakes])
        fits = (out[:, :count] <= 1) & (own <= 1) | (out[:, :count] <= 1) & only.unsqueeze(1)
        distance = (out[:, :count].square().mean(1) + torch.where(only, 0.0, own.square().mean(1))).sqrt()
        contradicted = (out[:, count:] > 1).double().mean(1) if len(good) else torch.zeros(len(out))
        # A mistake that says nothing about a wrong lse, or something else about a right one, explains less.
        contradicted += torch.where(only, (judged.lse > 1).any(), (lse[:, :count] > 1).any(1)).double()
        tensor = self._tensor(judged)
        found = [
            Found(self.candidates.mistakes[k], float(distance[k]), tensor, judged.base, float(contradicted[k]))
            for k in torch.nonzero(fits.all(1)).flatten().tolist()
        ]
        return found or self._in_each_row(judged, fits, tensor)

    def _in_each_row(self, judged, fits, tensor):
        """Explains rows by one kind whose partial differs between rows."""
        for kind in (MergeKind.LEFT_OUT, MergeKind.DOUBLED):
            of_kind = torch.tensor([one.kind is kind for one in self.candidates.mistakes])
            if fits[of_kind].any(0).all():
                return [Found(Mistake(kind, detail="another one in each row"), 1.0, tensor, judged.base)]
        return []

    def _compare(self, judged, at):
        """Returns the ratios [K, n] of out and of lse under every candidate."""
        rows = self.rows.take(at)
        right = merge(rows, judged.scale, self.sinks_in, self.arithmetic)
        out, lse = self.candidates.merged(rows, right, judged.scale)
        relative = 2 * right.lse_arithmetic * judged.scale
        arithmetic = right.out_arithmetic + relative.unsqueeze(-1) * out.abs()
        limit = limit_of(rows, right, out, arithmetic, self.per_merge)
        of_out = ratios(rows.out, out, limit, rows.out_roundoff.largest).amax(-1)
        return of_out, lse_ratios(rows, lse, right, judged.scale, judged.lse_scale)

    def _rounded(self, judged):
        """Explains an out that was rounded after each merge. The lse is then right."""
        rows, right = self.rows, judged.right
        if rows.out_roundoff.unit <= torch.finfo(torch.float32).eps or (judged.lse > 1).any():
            return []
        per_merge = judge(rows, judged.base, judged.scale, judged.lse_scale, self.sinks_in, self.arithmetic, True)
        if (per_merge.out > 1).any():
            return []
        bad = self._sample(judged.out > 1, _MOST_ROWS)
        part = rows.take(bad)
        size = stored(right.out[bad], right.out_arithmetic[bad], rows.out_roundoff)
        distances = [
            float(ratios(part.out, out, size, rows.out_roundoff.largest).amax(-1).square().mean().sqrt())
            for out in rounded_merges(part, judged.scale, self.sinks_in)
        ]
        return [Found(Mistake(MergeKind.ROUNDED_PER_MERGE), min(distances), "out", judged.base)]

    def _rounded_inputs(self, judged):
        """Explains all rows by partials or lses that were rounded before the merge, for instance to be sent."""
        found = []
        for field in ("lses", "partials"):
            given = getattr(self.rows, field)
            for dtype in _NARROW:
                most = torch.finfo(dtype).max
                narrow = torch.where(torch.isinf(given), given, given.clamp(-most, most).float().to(dtype).double())
                rows = replace(self.rows, **{field: narrow})
                how = (self.sinks_in, self.arithmetic, self.per_merge)
                other = judge(rows, judged.base, judged.scale, judged.lse_scale, *how)
                if (other.out <= 1).all() and (torch.minimum(other.lse, judged.lse) <= 1).all():
                    mistake = Mistake(MergeKind.INPUTS_ROUNDED, detail=f"the {field} to {str(dtype).split('.')[1]}")
                    distance = float(other.out.square().mean().sqrt())
                    found.append(Found(mistake, distance, self._tensor(judged), judged.base))
        return found

    def _of_lse(self, judged):
        """Explains an lse that is wrong though out is right."""
        bad = self._sample(judged.lse > 1, _MOST_ROWS)
        rows, found = self.rows.take(bad), []
        right = merge(rows, judged.scale, self.sinks_in, self.arithmetic)

        def add(mistake, ratio):
            if (ratio <= 1).all():
                found.append(Found(mistake, float(ratio.square().mean().sqrt()), "lse", judged.base))

        for scale in _SCALES:
            other = merge(rows, scale, self.sinks_in, self.arithmetic)
            for unit in (1.0, _LN2):
                add(Mistake(MergeKind.BASE_MIXED), lse_ratios(rows, other.lse, other, scale, unit))
        lses = torch.where(empties(rows.lses), torch.full_like(rows.lses, -torch.inf), rows.lses)
        known = [(f"the lse of partial {i}", i, one) for i, one in enumerate(lses)]
        known += [("the maximum of the lses", None, lses.amax(0)), ("the sum of the lses", None, lses.sum(0))]
        for detail, partial, value in known:
            ratio = lse_ratios(rows, value * judged.scale, right, judged.scale, judged.lse_scale)
            add(Mistake(MergeKind.LSE_NOT_MERGED, partial, detail=detail), ratio)
        for turned in reread(judged.right.lse.unsqueeze(0), self.rows.shape):
            add(Mistake(MergeKind.LSE_LAYOUT), lse_ratios(rows, turned[0, bad], right, 1.0, judged.lse_scale))
        _, lse = self._compare(judged, bad)
        for k, mistake in enumerate(self.candidates.mistakes):
            if not mistake.out_only:
                add(mistake, lse[k])
        return found

    def _other_bases(self):
        """Explains all rows by a base that was not asked for, or by lses that were converted twice."""
        judged, found = self.judged[0], []
        bad, how = judged.bad, (self.sinks_in, self.arithmetic, self.per_merge)
        if not (judged.out > 1).any():
            return []
        for scale in set(_SCALES) - {one.scale for one in self.judged}:
            other = judge(self.rows, judged.base, scale, judged.lse_scale, *how)
            if (other.out[bad] > 1).any():
                continue
            name = {1.0: "merged in base e", _LN2: "merged in base 2"}.get(scale, "converted once too often")
            units = [lse_ratios(self.rows, other.right.lse, other.right, scale, unit) for unit in (1.0, _LN2)]
            same = self.rows.lse is None or any(bool((unit[bad] <= 1).all()) for unit in units)
            kind = MergeKind.WRONG_BASE if same else MergeKind.BASE_MIXED
            if not same and (judged.lse > 1).any():
                continue
            distance = float(other.out[bad].square().mean().sqrt())
            found.append(Found(Mistake(kind, detail=name), distance, self._tensor(judged), judged.base))
        return found
