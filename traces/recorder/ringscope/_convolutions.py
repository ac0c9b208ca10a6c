# SPDX-License-Identifier: Apache-2.0
"""Causal convolutions over the tokens of a rank. Each needs the last tokens of the rank before it."""

import torch
from torch import nn

from ._session import observer
from ._tracing import unless_compiled

_MOST_MICROBATCHES = 4  # of a training step


def _is_causal(module):
    """Reports whether a module can be a causal convolution of each channel, as before a state space model."""
    return (
        isinstance(module, nn.Conv1d)
        and module.kernel_size[0] > 1
        and module.stride[0] == module.dilation[0] == 1
        and module.groups == module.in_channels > 1
        and module.padding in ((0,), (module.kernel_size[0] - 1,))
    )


class Convolutions:
    """Hooks on causal convolutions."""

    def __init__(self, session):
        self.session = session
        self.collectives = None  # knows the largest message of this forward pass outside of attention
        self._calls = []

    def begins(self):
        """Forgets the messages and calls before this forward pass. A message may bring the earlier tokens before the
        first convolution."""
        self._calls = []
        if self.collectives is not None:
            self.collectives.largest_message = 0

    def hook(self, module, name):
        """Returns the handle of a hook on a causal convolution, or None."""
        if not _is_causal(module):
            return None

        def begins(module, args):
            self.look(module, name, args[0] if args else None)

        return module.register_forward_pre_hook(unless_compiled(begins))

    @observer
    def look(self, module, name, given):
        """Takes the first call of a convolution in a forward pass."""
        if torch._C._current_graph_task_id() != -1 or not isinstance(given, torch.Tensor) or given.dim() != 3:
            return
        place = self.session.place()
        if place["microbatch"] >= _MOST_MICROBATCHES:
            return
        before = module.kernel_size[0] - 1
        if any(call["module"] == name for call in self._calls) or given.shape[-1] <= 2 * before:
            return
        padded = module.padding[0] == before
        head = given[..., :before]
        self._calls.append({
            "module": name,
            "tokens": given.shape[-1] - (0 if padded else before),
            "before": before,
            "begins_with_zeros": padded or not bool(head.any()),
            "elements": head.numel(),
            "place": place,
        })  # fmt: skip

    @observer
    def ended(self):
        """Writes the calls of a forward pass when it has ended. A message with a byte for each element of the earlier
        tokens may have brought them, because jobs send narrower types."""
        largest = 0 if self.collectives is None else self.collectives.largest_message
        for call in self._calls:
            place, elements = call.pop("place"), call.pop("elements")
            self.session.line("convolution", **place, **call, tail_moved=largest >= elements)
        self._calls = []
