# SPDX-License-Identifier: Apache-2.0
"""check_merge: is a tensor the merge of partial attention outputs, and if not, which mistake made it?"""

from dataclasses import dataclass

import torch

from ._merge_inputs import read_rows, scale_of, type_of
from ._merge_mistakes import MergeKind
from ._merge_search import Search, judge

_NAMES = {1.0: "e"}


@dataclass(frozen=True)
class MergeCheck:
    """The result of check_merge.

    right: Whether `out` and `lse` are the merge, within rounding.
    kind: MergeKind.NONE, or the mistake that reproduces the numbers.
    base: "e" or 2, the base in which `out` is merged. None if both bases give the same numbers.
    partial: The index of the partial that the mistake concerns, or None.
    tensor: The tensors that are wrong: "out", "lse", "out and lse", or "".
    where: The index of the worst row in `out`, for instance (token, head).
    wrong_rows, rows: The number of wrong rows, and of all. A row is one token and one head.
    factor: The worst error of a row divided by its limit. At most 1 if the merge is right.
    limit: The largest error of an element of the worst row that rounding explains, in the unit of `out`.
    error: The error of that element.
    type_loss: The part of a row's largest value that storing it once in the type of `out` loses at most (u).
    loss: The part of a row's largest value that `out` lost in the worst row, if the merge is right; otherwise None.
    detail: More about the mistake in words; for a right merge, more about its inputs.
    """

    right: bool
    kind: MergeKind
    base: object
    partial: int | None
    tensor: str
    where: tuple
    wrong_rows: int
    rows: int
    factor: float
    limit: float
    error: float
    type_name: str
    type_loss: float
    loss: float | None
    detail: str = ""

    def __bool__(self):
        return self.right

    def __str__(self):
        base = {None: "base e or 2 alike", "e": "base e", 2: "base 2"}[self.base]
        if self.right:
            return (
                f"right: {self.kind.value} ({base}); worst error {self.factor:.2g} of the limit at {self.where}; "
                f"{self.type_name} lost {self.loss:.2g} of a row's largest value, one rounding loses up to "
                f"{self.type_loss:.2g}"
            ) + (f"; {self.detail}" if self.detail else "")
        partial = "" if self.partial is None else f", partial {self.partial}"
        detail = f" ({self.detail})" if self.detail else ""
        verb = "are" if " and " in self.tensor else "is"
        return (
            f"{self.kind.name}: {self.kind.value}{partial}{detail}. {self.tensor} {verb} wrong in {self.wrong_rows} of "
            f"{self.rows} rows, most at {self.where}: {self.factor:.3g} times the limit {self.limit:.2g} of "
            f"{self.type_name} (compared in {base})."
        )


def check_merge(
    partials,
    lses,
    out,
    lse=None,
    *,
    base=None,
    lse_base=None,
    sinks=None,
    sinks_in=0,
    rounded_per_merge=False,
    arithmetic="float32",
    out_type=None,
    out_scale=1.0,
    heads_dim=-2,
    states_dim=0,
    lse_layout=None,
):
    """Reports whether `out` is the merge of partial attention outputs, and names the mistake if it is not.

    Partial i is attention over its own keys, with lse_i = log Σ exp(score). The merge is Σ b^(lse_i − lse) · partial_i.
    A partial without keys has lse −inf (or +inf, as flash-attention 2 says); its values are not read. Everything is
    compared in float64, on copies, which take 8 bytes per element. Pass the values that the merge itself read.

    partials: R outputs as a list of tensors shaped like `out`, or one tensor [R, *out.shape].
    lses: R log-sum-exps, each [tokens, heads] (FlashInfer, SGLang) or [heads, tokens] (vLLM, flash-attention).
    out: The merged output, [tokens, heads, features]; more dimensions in front are accepted. NumPy or torch.
    lse: The merged log-sum-exp, shaped like one of `lses`; None if the merge returns none.
    base: The base of `lses`: "e" or 2. None accepts either, if out and lse agree in it.
    lse_base: The base of the merged `lse`; None: that of `lses`.
    sinks: Attention sinks, one natural logit per head, [heads]. They count once, in the denominator.
    sinks_in: The number of partials whose lse includes the sink already.
    rounded_per_merge: Accepts an `out` that was rounded to its type after every merge, as a sum over ranks in bfloat16
        is. The limit is then about R times as large.
    arithmetic: The type in which the merge computes.
    out_type: The type to which `out` was rounded, if the tensor has a wider type (dequantised FP8).
    out_scale: The factor with which FP8 values were dequantised.
    heads_dim: The dimension of `out` that counts heads; 1 for [batch, heads, tokens, features].
    states_dim: The dimension of stacked `partials` and `lses` that counts partials; 1 for FlashInfer's merge_states.
    lse_layout: "like_out" or "heads_first"; None finds it from the shapes, and tries both if tokens == heads.

    Returns a MergeCheck, which is true if the merge is right. Never raises because of values.
    Raises ValueError if shapes do not fit or an option is unknown, with a sentence that says what to pass.

    The limits are worst cases of rounding; ringscope._merge_limits lists their sources (Higham 2002; Blanchard, Higham
    and Higham 2021). An error below them is not seen: with 3 bits of mantissa a partial of 1/32 of the weight is not.
    """
    tensors = {"partials": partials, "lses": lses, "out": out, "lse": lse, "sinks": sinks}
    shapes = {"heads_dim": heads_dim, "states_dim": states_dim, "out_scale": out_scale}
    shapes["out_type"] = None if out_type is None else type_of(out_type)
    if not isinstance(sinks_in, int) or sinks_in < 0:
        raise ValueError(f"sinks_in={sinks_in!r} is no number of partials; pass 0 if no lse includes the sink")
    scales = [scale_of(name) for name in (("e", 2) if base is None else (base,))]
    lse_scale = None if lse_base is None else scale_of(lse_base)
    return _check(tensors, shapes, lse_layout, scales, lse_scale, (sinks_in, type_of(arithmetic), rounded_per_merge))


def _check(tensors, shapes, lse_layout, scales, lse_scale, how):
    """Judges the rows under each base. `how` has sinks_in, the arithmetic's type and rounded_per_merge."""

    def judged_in(layout):
        rows = read_rows(**tensors, **shapes, lse_layout=layout)
        return rows, [judge(rows, _NAMES.get(scale, 2), scale, lse_scale or scale, *how) for scale in scales]

    rows, judged = judged_in(lse_layout)
    square = len(rows.shape) > 1 and rows.shape[-1] == rows.shape[-2]
    if lse_layout is None and square and all(bool(one.bad.any()) for one in judged):
        other = judged_in("heads_first")
        if not all(bool(one.bad.any()) for one in other[1]):
            rows, judged = other
    right = [one for one in judged if not one.bad.any()]
    if right or not rows.out.numel():
        return _right(rows, right or judged, len(scales))
    judged.sort(key=lambda one: int(one.bad.sum()))
    return _wrong(rows, judged, Search(rows, judged, *how).find())


def _right(rows, right, bases):
    judged = right[0]
    if not rows.out.numel():
        return MergeCheck(True, MergeKind.NONE, None, None, "", (), 0, 0, 0.0, 0.0, 0.0, rows.out_roundoff.name,
                          rows.out_roundoff.unit, 0.0)  # fmt: skip
    worst, limit, error = _worst(rows, judged)
    largest = judged.right.out.abs().amax(-1)
    lost = torch.nan_to_num((rows.out - judged.right.out).abs().amax(-1))
    loss = torch.where(largest > 0, lost / torch.where(largest > 0, largest, torch.ones_like(largest)), lost * 0).amax()
    base = judged.base if bases == 1 or len(right) == 1 else None
    factor = float(torch.maximum(judged.out, judged.lse)[worst])
    return MergeCheck(True, MergeKind.NONE, base, None, "", rows.place(worst), 0, len(rows.out), factor, limit, error,
                      rows.out_roundoff.name, rows.out_roundoff.unit, float(loss), _doubtful(rows))  # fmt: skip


def _doubtful(rows):
    """Says which partials look as if they had no keys and did not say −inf; "" for none."""
    doubtful = (rows.lses == 0) & (rows.partials == 0).all(-1)
    if not doubtful.any():
        return ""
    partials = ", ".join(str(i) for i in torch.nonzero(doubtful.any(1)).flatten().tolist())
    return (
        f"but in {int(doubtful.any(0).sum())} rows the output of partial {partials} is 0 with an lse of 0; if it has "
        "no keys there, its lse must be −inf"
    )


def _wrong(rows, judged, found):
    mistake = found.mistake
    judged = next(one for one in judged if one.base == found.base)
    worst, limit, error = _worst(rows, judged)
    factor = float(torch.maximum(judged.out, judged.lse)[worst])
    return MergeCheck(False, mistake.kind, judged.base, mistake.partial, found.tensor, rows.place(worst),
                      int(judged.bad.sum()), len(rows.out), factor, limit, error, rows.out_roundoff.name,
                      rows.out_roundoff.unit, None, mistake.detail)  # fmt: skip


def _worst(rows, judged):
    """Returns the worst row, and limit and error of its worst element of `out`."""
    worst = int(torch.maximum(judged.out, judged.lse).argmax())
    error = (rows.out[worst] - judged.right.out[worst]).abs()
    at = int(torch.where(torch.isnan(error), torch.full_like(error, torch.inf), error).argmax()) if len(error) else 0
    predicted, arithmetic = judged.right.out[worst, at].abs(), judged.right.out_arithmetic[worst, at]
    roundoff = rows.out_roundoff
    return worst, float(arithmetic + roundoff.unit * (predicted + arithmetic) + roundoff.smallest), float(error[at])
