# SPDX-License-Identifier: Apache-2.0
"""The mistakes that weigh partials wrongly, each as a linear map of masses to weights and a denominator.

The first masses of a row are those of each partial. Then come those of each partial in a base that is wrong by ln 2
or 1/ln 2. Then come those of partials whose missing keys are taken with lse 0. The last four are the sink, the sink in
the wrong base, an lse of 0, and the number 1.
"""

import enum
import functools
import itertools
import math
from dataclasses import dataclass

import torch

from ._merge_limits import clean, empties

_LN2 = math.log(2.0)
_MOST_EXPONENT = 300.0  # of a mass that a wrong base makes; the product with a tensor stays finite
_MOST_PAIRS = 16  # partials; of more, only neighbours are exchanged


class MergeKind(enum.Enum):
    """The outcome of check_merge: NONE, or the mistake that reproduces the numbers. The value says it in words."""

    NONE = "out is the merge of the partials"
    WRONG_BASE = "the lses were taken for logarithms of another base"
    BASE_MIXED = "out was merged in one base and lse is in another"
    LEFT_OUT = "a partial was left out"
    DOUBLED = "a partial was counted twice"
    ONE_ALONE = "out is one partial, and all others were left out"
    WRONG_RANK = "a partial or its lse was replaced by that of another rank"
    SINKS_LEFT_OUT = "the attention sinks were not counted"
    SINKS_REPEATED = "the attention sinks were counted more than once"
    NEUTRAL_NAN = "a partial without keys made NaN"
    NEUTRAL_ZERO = "lse 0 instead of −inf was taken as the neutral element"
    PLAIN_SUM = "the partials were added without weights"
    MEAN = "the partials were averaged without weights"
    UNNORMALISED = "the weighted sum was not divided by the sum of the weights"
    MAX_NOT_SUBTRACTED = "exp(lse) overflowed or vanished, because the maximum was not subtracted"
    LSE_NOT_MERGED = "lse is that of one partial, their maximum or their sum"
    LSE_LAYOUT = "the lses were read as [tokens, heads] but lie as [heads, tokens], or the reverse"
    HEADS_PERMUTED = "the heads are in another order"
    TOKENS_PERMUTED = "the tokens are in another order"
    ROUNDED_PER_MERGE = "out was rounded to its type after each merge instead of once"
    INPUTS_ROUNDED = "the merge read partials or lses that were rounded to a narrow type"
    INPUT_NOT_FINITE = "a partial that has keys holds NaN or infinity"
    UNKNOWN = "out is not the merge of the partials, and no known mistake reproduces it"


@dataclass(frozen=True)
class Mistake:
    """A candidate: how it is called, and which partials it concerns."""

    kind: MergeKind
    partial: int | None = None
    other: int | None = None
    detail: str = ""
    out_only: bool = False  # the mistake says nothing about lse


class Candidates:
    """Weights of many mistakes. numerators [K, R, B] and denominators [K, B] multiply the basis [B, N]."""

    def __init__(self, ranks, has_sinks, sinks_in):
        self.ranks = ranks
        self.size = 4 * ranks + 4
        self.sink, self.wrong_sink, self.zero, self.one = range(4 * ranks, 4 * ranks + 4)
        self.mistakes, self.numerators, self.denominators = [], [], []
        self.sinks = (1 - sinks_in) if has_sinks else 0
        self._weights()
        self._pairs()
        if has_sinks:
            self._sinks(sinks_in)
        for i in range(ranks if ranks > 2 else 0):  # of two partials, the other one was left out
            self._add(Mistake(MergeKind.ONE_ALONE, i), self._alone(i))
        self._unweighed()
        self.numerators, self.denominators = torch.stack(self.numerators), torch.stack(self.denominators)

    def _add(self, mistake, change):
        numerator = torch.zeros(self.ranks, self.size, dtype=torch.float64)
        numerator[:, : self.ranks] = torch.eye(self.ranks, dtype=torch.float64)
        denominator = torch.zeros(self.size, dtype=torch.float64)
        denominator[: self.ranks] = 1
        denominator[self.sink] = self.sinks
        change(numerator, denominator)
        self.mistakes.append(mistake)
        self.numerators.append(numerator)
        self.denominators.append(denominator)

    def _scale(self, mistake, i, factor):
        def change(numerator, denominator):
            numerator[i, i] = denominator[i] = factor

        self._add(mistake, change)

    def _exchange(self, mistake, i, basis):
        """Takes the mass `basis` in place of that of partial i."""

        def change(numerator, denominator):
            numerator[i, i], denominator[i] = 0, 0
            numerator[i, basis] += 1
            denominator[basis] += 1

        self._add(mistake, change)

    def _weights(self):
        ranks, kind = self.ranks, MergeKind
        for i in range(ranks):
            self._scale(Mistake(kind.LEFT_OUT, i), i, 0)
            self._scale(Mistake(kind.DOUBLED, i), i, 2)
        for i in range(ranks if ranks > 1 else 0):
            alone = Mistake(kind.WRONG_BASE, i, detail="of this partial alone; others are right")
            self._exchange(alone, i, ranks + i)
            self._exchange(alone, i, 2 * ranks + i)
            self._exchange(Mistake(kind.NEUTRAL_ZERO, i), i, 3 * ranks + i)
        self._add(Mistake(kind.NEUTRAL_ZERO, detail="in every partial without keys"), self._every_empty_as_zero)
        self._add(Mistake(kind.NEUTRAL_ZERO, detail="at the start of the running merge"), self._start_at_zero)

    def _unweighed(self):
        kind = MergeKind
        for detail, divisor in (("", None), ("by the number of partials", self.one)):
            mistake = Mistake(kind.MEAN if divisor else kind.PLAIN_SUM, detail=detail, out_only=True)
            self._add(mistake, self._plain(divisor))
        self._add(Mistake(kind.UNNORMALISED, detail="weights exp(lse − maximum)", out_only=True), self._undivided(1))
        self._add(Mistake(kind.UNNORMALISED, detail="weights exp(lse)", out_only=True), self._undivided(None))

    @staticmethod
    def _alone(i):
        def change(numerator, denominator):
            mass = numerator[i].clone()
            numerator.zero_()
            numerator[i] = denominator[:] = mass

        return change

    def _every_empty_as_zero(self, numerator, denominator):
        for i in range(self.ranks):
            numerator[i, i] = denominator[i] = 0
            numerator[i, 3 * self.ranks + i] = denominator[3 * self.ranks + i] = 1

    def _start_at_zero(self, _, denominator):
        denominator[self.zero] = 1

    def _plain(self, divisor):
        def change(numerator, denominator):
            numerator.zero_()
            numerator[:, self.one] = 1
            denominator.zero_()
            denominator[self.one] = self.ranks if divisor else 1

        return change

    def _undivided(self, one):
        def change(_, denominator):
            denominator.zero_()
            denominator[self.one if one else self.zero] = 1

        return change

    def _pairs(self):
        ranks = self.ranks
        near = ranks > _MOST_PAIRS
        for i, j in itertools.permutations(range(ranks), 2):
            if near and abs(i - j) not in (1, ranks - 1):
                continue
            self._pair(i, j)
        for shift in range(1, ranks):
            if ranks > 2:
                self._rotate(shift)

    def _pair(self, i, j):
        ranks, kind = self.ranks, MergeKind.WRONG_RANK

        def whole(numerator, denominator):
            numerator[i, i] = denominator[i] = 0
            numerator[j, j] = denominator[j] = 2

        def values(numerator, _):
            numerator[i, i] = 0
            numerator[j, i] += 1

        def weight(numerator, denominator):
            numerator[i, i] = denominator[i] = 0
            numerator[i, j] = 1
            denominator[j] = 2

        self._add(Mistake(kind, i, j, f"out and lse of partial {j} in place of those of partial {i}"), whole)
        self._add(Mistake(kind, i, j, f"out of partial {j} with the lse of partial {i}"), values)
        if ranks > 2:  # of two partials, this is their mean
            self._add(Mistake(kind, i, j, f"lse of partial {j} with the out of partial {i}"), weight)
        if i < j:

            def swapped(numerator, _):
                numerator[i, i] = numerator[j, j] = 0
                numerator[i, j] = numerator[j, i] = 1

            self._add(Mistake(kind, i, j, f"the lses of partials {i} and {j} are exchanged"), swapped)

    def _rotate(self, shift):
        def change(numerator, _):
            numerator.zero_()
            for i in range(self.ranks):
                numerator[i, (i + shift) % self.ranks] = 1

        self._add(Mistake(MergeKind.WRONG_RANK, None, None, f"partial i has the lse of partial i + {shift}"), change)

    def _sinks(self, sinks_in):
        def counted(count, basis):
            def change(_, denominator):
                denominator[self.sink] = -sinks_in if basis != self.sink else count - sinks_in
                if basis != self.sink:
                    denominator[basis] = 1

            return change

        self._add(Mistake(MergeKind.SINKS_LEFT_OUT), counted(0, self.sink))
        for count in sorted({2, self.ranks, self.ranks + 1} - {1}):
            said = "once per partial" if count == self.ranks and count > 2 else f"{count} times"
            self._add(Mistake(MergeKind.SINKS_REPEATED, detail=said), counted(count, self.sink))
        self._add(Mistake(MergeKind.WRONG_BASE, detail="of the sinks alone"), counted(0, self.wrong_sink))

    def merged(self, rows, right, scale):
        """Returns out [K, N, D] and natural lse [K, N] under each mistake, given the right Merged of the rows."""
        empty = empties(rows.lses)

        def mass(x):
            return torch.exp(torch.clamp(x - right.top, max=_MOST_EXPONENT))

        def masses(factor):
            return torch.where(empty, torch.zeros_like(rows.lses), mass(rows.lses * factor))

        zero = mass(torch.zeros_like(right.top))
        wrong_sink = torch.zeros_like(zero)
        if rows.sinks is not None:
            wrong_sink = mass(rows.sinks * (_LN2 if scale != 1 else 1 / _LN2))
        basis = torch.cat([
            right.masses,
            masses(scale * _LN2),
            masses(scale / _LN2),
            torch.where(empty, zero.expand_as(right.masses), right.masses),
            torch.stack([right.sink, wrong_sink, zero, torch.ones_like(zero)]),
        ])  # fmt: skip
        weights = torch.einsum("krb,bn->krn", self.numerators, basis)
        total = torch.einsum("kb,bn->kn", self.denominators, basis)
        sums = torch.einsum("krn,rnd->knd", weights, clean(rows.partials, rows.lses))
        some = (total > 0).unsqueeze(-1)
        safe = torch.where(some, total.unsqueeze(-1), torch.ones_like(sums))
        out = torch.where(some, sums / safe, torch.zeros_like(sums))
        return out, right.top + torch.log(torch.clamp(total, min=0))


@functools.lru_cache(maxsize=16)
def candidates_of(ranks, has_sinks, sinks_in):
    """Returns the Candidates for a number of partials, which are made once."""
    return Candidates(ranks, has_sinks, sinks_in)
