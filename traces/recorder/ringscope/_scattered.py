# SPDX-License-Identifier: Apache-2.0
"""Features of media that a job scatters into the embeddings of its tokens."""

import torch

from ._hashing import gridsum64
from ._session import observer

_MOST_ELEMENTS, _MOST_MICROBATCHES = 1 << 22, 4


def _repeats_first(features, rows):
    """Reports whether further rows of the features repeat the first ones."""
    if not 0 < rows < len(features):
        return False
    return bool((features == features[torch.arange(len(features), device=features.device) % rows]).all())


class Scattered:
    """Observes Tensor.masked_scatter, with which models put the features of images among the embeddings of text."""

    def __init__(self, session, patches):
        self.session = session
        for name in ("masked_scatter", "masked_scatter_"):
            patches.wrap(torch.Tensor, name, self._around)

    def _around(self, original):
        def masked_scatter(tensor, *args, **kwargs):
            self.look(tensor, *args, **kwargs)
            return original(tensor, *args, **kwargs)

        return masked_scatter

    @observer
    def look(self, tensor, mask, source):
        """Writes how many of the features' rows are used."""
        if self.session.microbatch >= _MOST_MICROBATCHES:
            return
        if torch._C._current_graph_task_id() != -1 or tensor.dim() != 3 or not source.is_floating_point():
            return
        width = tensor.shape[-1]
        if source.numel() % width or source.numel() > _MOST_ELEMENTS or mask.dtype != torch.bool:
            return
        features = source.detach().reshape(-1, width)
        used = mask.expand_as(tensor).sum().item()
        if _repeats_first(features, 1) or _repeats_first(features, used // width):
            return  # learned vectors, with which every rank may begin anew
        self.session.line(
            "scattered",
            **self.session.place(layer=None),
            tokens=tensor.shape[1],
            rows=len(features),
            used=used // width,
            hash=f"{gridsum64(source.detach()):016x}",
        )
