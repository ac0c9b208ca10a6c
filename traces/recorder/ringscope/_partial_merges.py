# SPDX-License-Identifier: Apache-2.0
"""Merges of partial attention outputs that ranks gathered with their log-sum-exps, as in decoding with a KV cache whose
tokens are on several ranks. The function that gathers them returns their merge. Other gathered pairs have such shapes
too. Therefore a merge is judged only if this rank's part is attention of the function's q, keys and values."""

import math
import os
import sys
from dataclasses import dataclass

import torch

from ._merge_check import check_merge
from ._merge_mistakes import MergeKind
from ._operators import tensors_in
from ._qkv_frames import names_in
from ._session import observer

_OWN = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
_MOST_CHECKS, _MOST_ELEMENTS, _MOST_CACHED = 16, 1 << 16, 1 << 24
_MOST_EVENTS = 2000  # calls and returns between the last gather and the end of its function
_SAID = (  # mistakes that reproduce a result only if they made it
    MergeKind.WRONG_BASE,
    MergeKind.PLAIN_SUM,
    MergeKind.MEAN,
    MergeKind.WRONG_RANK,
)


def _frame_of_the_job():
    at = sys._getframe(1)
    while at is not None and at.f_code.co_filename.startswith(_OWN):
        at = at.f_back
    return at


@dataclass
class _Gather:
    """A gather: this rank's part as it was sent, and the parts of all ranks, which may arrive later."""

    own: torch.Tensor
    parts: list


@dataclass
class _Attended:
    """The attention whose output and log-sum-exps this rank sent."""

    keys: torch.Tensor  # [B, S, H, D], of this rank
    new: torch.Tensor  # the keys that the function was given
    base: object  # of the log-sum-exps
    out: torch.Tensor  # [B, S, H, D]
    lse: torch.Tensor  # [B, H, S], natural logarithms


def _fit(outs, lses):
    """Reports whether gathered tensors can be outputs [..., D] and their log-sum-exps, which have no D."""
    out, lse = outs.own, lses.own
    return (
        out.dim() == lse.dim() + 1
        and out.shape[-1] > 1
        and lse.numel() * out.shape[-1] == out.numel()
        and sorted(out.shape[:-1]) == sorted(lse.shape)
    )


def _equal(given, expected, dtype):
    """Reports whether a tensor is `expected` within the rounding of `dtype`."""
    limit = max(1e-3, 4 * torch.finfo(dtype).eps)
    return given.shape == expected.shape and bool(
        ((given.double() - expected).abs() <= limit * (expected.abs() + expected.abs().max())).all()
    )


class PartialMerges:
    def __init__(self, session):
        self.session = session
        self._frame, self._gather = None, None  # the id of the function that gathered last, and its last gather
        self._event = None  # the profiler that waits for the end of a function
        self._checks = 0

    def release(self):
        """Forgets gathers and stops waiting for the end of a function."""
        if self._event is not None and sys.getprofile() is self._event:
            sys.setprofile(None)
        self._frame = self._gather = self._event = None

    def gathered(self, operator, args, results, group):
        """Takes a gather. The second one of a function may complete outputs and log-sum-exps."""
        before, was = self._gather, self._frame
        self.release()
        size = group.size()
        if size < 2 or self._checks >= _MOST_CHECKS or sys.getprofile() is not None:
            return
        into = tensors_in(args[0]) if operator.namespace == "c10d" else tensors_in(results)
        sent = tensors_in(args[1] if operator.namespace == "c10d" else args[0])
        if len(into) == 1 and into[0].dim() and into[0].shape[0] % size == 0:
            into = list(into[0].chunk(size))
        if len(into) != size or len(sent) != 1 or not into[0].is_floating_point():
            return
        if into[0].numel() * size > _MOST_ELEMENTS or sent[0].numel() != into[0].numel():
            return
        frame = _frame_of_the_job()
        if not names_in(frame.f_code):
            return
        now = _Gather(sent[0].detach().clone(), into)
        self._frame, self._gather = id(frame), now
        if before is None or was != id(frame):
            return
        pair = (before, now) if _fit(before, now) else (now, before) if _fit(now, before) else None
        if pair is None:
            return
        self._checks += 1
        attended = self._attended(frame, *pair)
        if attended is not None:
            place = self.session.place()
            self._at_return(frame, lambda result: self.check(attended, *pair, result, group, place))

    def _at_return(self, frame, ended):
        left = _MOST_EVENTS

        def event(at, what, result):
            nonlocal left
            if self._event is not event:
                return
            left -= 1
            returns = at is frame and what == "return"
            if returns or left <= 0:
                self.release()
            if returns:
                ended(result)

        self._event = event
        sys.setprofile(event)

    @observer
    def check(self, attended, outs, lses, result, group, place):
        """Writes which merge a function's result is. Writes a wrong one only if outputs that were scaled with the
        log-sum-exps of all ranks before the gather would differ."""
        if not isinstance(result, torch.Tensor) or result.numel() != outs.own.numel():
            return
        for gather in (outs, lses):
            if not torch.equal(gather.parts[group.rank()].detach().reshape(gather.own.shape), gather.own):
                return
        merged = result.detach().reshape(outs.own.shape)
        gathered = [[part.detach().reshape(gather.own.shape) for part in gather.parts] for gather in (outs, lses)]
        found = check_merge(*gathered, merged, base=attended.base)
        if not found.right and self._may_be_scaled(attended, outs.own, gathered[1]):
            return
        kind = found.kind.name if found.right or found.kind in _SAID else MergeKind.UNKNOWN.name
        keys, new = attended.keys, attended.new
        self.session.line(
            "merge",
            **place,
            group=self.session.group(group),
            found=kind,
            detail=found.detail,
            base=found.base,
            factor=found.factor if found.factor < 1e30 else None,
            appended=torch.equal(keys[:, -new.shape[1] :], new),
        )

    @staticmethod
    def _may_be_scaled(attended, own, lses):
        """Reports whether this rank's output can have been multiplied by its weight, which is then close to 1."""
        logarithms = torch.stack(lses).double().reshape(-1, *attended.lse.shape)
        logarithms *= math.log(2.0) if attended.base == 2 else 1.0
        for whole in (logarithms.logsumexp(0), logarithms.amax(0)):
            weights = (attended.lse - whole).exp().transpose(1, 2)[..., None]
            if _equal(own.reshape(attended.out.shape), attended.out * weights, own.dtype):
                return True
        return False

    @staticmethod
    def _attended(frame, outs, lses):
        """Returns the attention with the function's q whose output and log-sum-exps this rank sent. Its keys and values
        are variables of the function. Returns None if there is none."""
        names, now = names_in(frame.f_code), frame.f_locals
        q, new = (now.get(name) for name in names[:2])
        if not all(isinstance(x, torch.Tensor) and x.dim() == 4 for x in (q, new)) or q.numel() != outs.own.numel():
            return None
        cached = [x for x in now.values() if type(x) is torch.Tensor and x.dim() == 4 and x.shape[1] > new.shape[1]]
        for keys in cached:
            if keys.shape[0] != new.shape[0] or keys.shape[2:] != new.shape[2:] or q.shape[2] % keys.shape[2]:
                continue
            if q.shape[0] != keys.shape[0] or q.shape[3] != keys.shape[3]:
                continue
            times = q.shape[2] // keys.shape[2]
            if keys.numel() * times > _MOST_CACHED or q.numel() // q.shape[3] * keys.shape[1] > _MOST_CACHED:
                continue
            heads = keys.detach().repeat_interleave(times, 2).double()
            scores = torch.einsum("bqhd,bkhd->bhqk", q.detach().double(), heads) * q.shape[-1] ** -0.5
            lse = scores.logsumexp(-1)
            sent = lses.own.reshape(-1, *lses.own.shape[-2:]).double()
            base = next((b for b, unit in (("e", 1.0), (2, math.log(2.0))) if _equal(sent * unit, lse, q.dtype)), None)
            if base is None:
                continue
            for values in cached:
                if values.shape != keys.shape:
                    continue
                heads = values.detach().repeat_interleave(times, 2).double()
                out = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), heads)
                if _equal(outs.own.reshape(-1, *outs.own.shape[-3:]), out, q.dtype):
                    return _Attended(keys, new, base, out, lse)
        return None
