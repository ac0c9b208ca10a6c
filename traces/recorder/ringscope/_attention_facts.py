# SPDX-License-Identifier: Apache-2.0
"""The meant attention, from the arguments of its operator and the attributes of its module."""

import torch
from torch import nn

from ._flex_mask import _MOST_PAIRS, _UNKNOWN, _kind_of

# Attributes of attention modules with a scale of the scores; names that other modules use too are read only in a
# module whose class is named after attention.
_SCALES = ("scaling", "softmax_scale", "attn_scale", "attention_multiplier")
_SCALES_OF_ATTENTION = (*_SCALES, "scale")
_SOFTCAPS = ("attn_logit_softcapping", "softcap", "attn_softcap", "logits_soft_cap")
_WINDOWS = ("sliding_window",)
_SINKS = ("sinks", "attention_sinks", "sink_logits")


def mask_kind(mask, q, k):
    """Returns the mask of a tensor of bools or of numbers that are 0 or −inf (or a type's least number) as a dict, like
    mask_of(). Returns None without a mask; its kind is None for other numbers, which are a bias."""
    if mask is None:
        return None
    if not isinstance(mask, torch.Tensor) or mask.dim() < 2 or mask.numel() > _MOST_PAIRS:
        return dict(_UNKNOWN)
    pairs = mask
    if mask.dtype != torch.bool:
        pairs = mask == 0
        least = torch.finfo(mask.dtype).min if mask.is_floating_point() else None
        if least is None or not bool((mask[~pairs] <= least / 2).all()):
            return dict(_UNKNOWN)
    pairs = pairs.reshape(*(1,) * (4 - pairs.dim()), *pairs.shape)
    if pairs.shape[-2:] != (q.size(2), k.size(2)):
        return dict(_UNKNOWN)
    return _kind_of(pairs)


def scale_and_mask(given):
    """Returns the fields of a line of an operator within an annotated attention."""
    scale, mask = given.get("scale"), given.get("attn_mask", given.get("attn_bias"))
    fields = {"scale": scale, "default_scale": scale is None}
    if mask is not None and "flex" not in given:
        fields.update(masked=True, mask=mask_kind(mask, given["query"], given["key"]))
    return fields


def _first_number(module, names):
    for name in names:
        value = getattr(module, name, None)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            return float(value)
    return None


def facts_of(layer):
    """Returns the scale, softcap and window that a layer's modules have as attributes, and the parameter with its sinks
    or None. A fact that several modules state differently is left out."""
    found, sinks = {"scale": set(), "softcap": set(), "window": set()}, None
    for module in layer.modules():
        is_attention = "attention" in type(module).__name__.lower() or "attn" in type(module).__name__.lower()
        scale = _first_number(module, _SCALES_OF_ATTENTION if is_attention else _SCALES)
        found["scale"].add(scale)
        found["softcap"].add(_first_number(module, _SOFTCAPS))
        if is_attention:
            found["window"].add(_first_number(module, _WINDOWS))
        for name in _SINKS:
            value = module._parameters.get(name)
            if isinstance(value, nn.Parameter) and value.dim() == 1:
                sinks = value
    found = {name: values - {None} for name, values in found.items()}
    return {name: min(values) for name, values in found.items() if len(values) == 1}, sinks
