# SPDX-License-Identifier: Apache-2.0
"""Merges of partial attention outputs that ranks gathered with their log-sum-exps, as in decoding with a KV cache whose
tokens are on several ranks. The function that gathers them returns their merge."""

import math
import os
import sys

import torch

from ._merge_check import check_merge
from ._merge_mistakes import MergeKind
from ._operators import tensors_in
from ._qkv_frames import names_in
from ._session import observer

_OWN = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
_MOST_CHECKS, _MOST_ELEMENTS = 16, 1 << 16
_SAID = (  # mistakes that reproduce a result only if they made it
    MergeKind.WRONG_BASE,
    MergeKind.PLAIN_SUM,
    MergeKind.MEAN,
    MergeKind.UNNORMALISED,
    MergeKind.WRONG_RANK,
)


def _frame_of_the_job():
    at = sys._getframe(1)
    while at is not None and at.f_code.co_filename.startswith(_OWN):
        at = at.f_back
    return at


def _fit(outs, lses):
    """Reports whether gathered tensors can be outputs [..., D] and their log-sum-exps, which have no D."""
    out, lse = outs[0], lses[0]
    return (
        len(outs) == len(lses)
        and out.dim() == lse.dim() + 1
        and out.shape[-1] > 1
        and lse.numel() * out.shape[-1] == out.numel()
        and sorted(out.shape[:-1]) == sorted(lse.shape)
    )


class PartialMerges:
    def __init__(self, session):
        self.session = session
        self._frame, self._gathers = None, []  # the id of the function that gathered last, and its last gather
        self._checks = 0

    def gathered(self, operator, args, results, group):
        """Takes a gather. The second one of a function may complete outputs and log-sum-exps."""
        size = group.size()
        if size < 2 or self._checks >= _MOST_CHECKS or sys.getprofile() is not None:
            return
        into = tensors_in(args[0]) if operator.namespace == "c10d" else tensors_in(results)
        if len(into) == 1 and into[0].dim() and into[0].shape[0] % size == 0:
            into = list(into[0].chunk(size))
        if len(into) != size or not into[0].is_floating_point() or into[0].numel() * size > _MOST_ELEMENTS:
            return
        frame = _frame_of_the_job()
        if id(frame) != self._frame:
            self._frame, self._gathers = id(frame), []
        self._gathers = [*self._gathers[-1:], into]
        if len(self._gathers) < 2:
            return
        first, second = self._gathers
        pair = (first, second) if _fit(first, second) else (second, first) if _fit(second, first) else None
        if pair is None:
            return
        self._checks += 1
        place = self.session.place()
        self._at_return(frame, lambda result: self.check(frame, *pair, result, group, place))
        self._frame, self._gathers = None, []

    def _at_return(self, frame, ended):
        def event(at, what, result):
            if at is not frame or what != "return":
                return
            if sys.getprofile() is event:
                sys.setprofile(None)
            ended(result)

        sys.setprofile(event)

    @observer
    def check(self, frame, outs, lses, result, group, place):
        """Writes which merge a function's result is."""
        if not isinstance(result, torch.Tensor) or result.numel() != outs[0].numel():
            return
        merged = result.detach().reshape(outs[0].shape)
        keys, new, base = self._attended(frame, lses[group.rank()])
        outs, lses = ([t.detach() for t in tensors] for tensors in (outs, lses))
        found = check_merge(outs, lses, merged, base=base)
        kind = found.kind.name if found.right or found.kind in _SAID else MergeKind.UNKNOWN.name
        self.session.line(
            "merge",
            **place,
            group=self.session.group(group),
            found=kind,
            detail=found.detail,
            base=found.base,
            factor=found.factor if found.factor < 1e30 else None,
            appended=None if keys is None else torch.equal(keys[:, -new.shape[1] :], new),
        )

    @staticmethod
    def _attended(frame, lse):
        """Returns the keys [B, S, H, D] that this rank attended, the keys that the function was given, and the base of
        the log-sum-exps. The keys are a variable of the function whose log-sum-exp with q is `lse`. Returns None three
        times if there is none."""
        names, now = names_in(frame.f_code), frame.f_locals
        q, new = (now.get(name) for name in names[:2]) if names else (None, None)
        if not all(isinstance(x, torch.Tensor) and x.dim() == 4 for x in (q, new)):
            return None, None, None
        for keys in now.values():
            if type(keys) is not torch.Tensor or keys.dim() != 4 or keys.shape[1] <= new.shape[1]:
                continue
            if keys.shape[0] != new.shape[0] or keys.shape[2:] != new.shape[2:] or q.shape[2] % keys.shape[2]:
                continue
            heads = keys.repeat_interleave(q.shape[2] // keys.shape[2], 2).double()
            scores = torch.einsum("bqhd,bkhd->bhqk", q.double(), heads) * q.shape[-1] ** -0.5
            own = scores.logsumexp(-1)
            for base, factor in (("e", 1.0), (2, math.log(2.0))):
                if own.shape == lse.shape and torch.allclose(own, lse.double() * factor, rtol=1e-3, atol=1e-3):
                    return keys, new, base
        return None, None, None
