# SPDX-License-Identifier: Apache-2.0
"""Modules that mix tokens in another way than by attention, which the recorder does not watch."""

import re

from torch import nn

_CONVOLUTIONS = (nn.Conv1d, nn.ConvTranspose1d)
_CLASSES = re.compile("Mamba|SSM|RWKV|Rwkv|Hyena|Retention|RetNet|DeltaNet|LSTM|GRU|LRU|Recurrent|LinearAttention")


def mixes_tokens(module):
    """Reports whether a module mixes tokens: a convolution over more than one token, or a recurrence."""
    if isinstance(module, _CONVOLUTIONS):
        return module.kernel_size[0] > 1 and module.kernel_size[0] > module.stride[0]
    return isinstance(module, nn.RNNBase) or _CLASSES.search(type(module).__name__) is not None


def unwatched(model):
    """Returns [name, class] of the outermost modules that mix tokens and have no module in a list within."""
    found = []

    def look(module, name):
        holds_layers = any(isinstance(part, (nn.ModuleList, nn.ModuleDict)) for part in module.modules())
        if name and mixes_tokens(module) and not holds_layers:
            found.append([name, type(module).__name__])
            return
        for own, child in module.named_children():
            look(child, f"{name}.{own}" if name else own)

    look(model, "")
    return found
