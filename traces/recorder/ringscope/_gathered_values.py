# SPDX-License-Identifier: Apache-2.0
"""Small values that ranks gathered outside of attention, such as log-probabilities of a reference model."""

from ._operators import tensors_in

_MOST_GATHERS, _MOST_ELEMENTS = 8, 1 << 20


class GatheredValues:
    """The last gathers before a backward: what came from each rank."""

    def __init__(self, session):
        self.session = session
        self._step, self._gathers = None, []

    def posted(self, operator, args, results, size):
        """Remembers a gather of float tensors [B, S] or [B, S, D], which are read when backward begins."""
        if size < 2 or self.session.layer is not None:
            return
        into = tensors_in(args[0]) if operator.namespace == "c10d" else tensors_in(results)
        if len(into) == 1 and into[0].dim() and into[0].shape[0] % size == 0:
            into = list(into[0].chunk(size))
        known = len(into) == size and into[0].dim() in (2, 3) and into[0].is_floating_point()
        if not known or not 1 < into[0].numel() <= _MOST_ELEMENTS // size:
            return
        if self._step != self.session.step:
            self._step, self._gathers = self.session.step, []
        self._gathers = [*self._gathers, [tensor.detach() for tensor in into]][-_MOST_GATHERS:]

    def of(self, part, size):
        """Returns the gathers of parts like this one; none of an earlier training step."""
        if self._step != self.session.step or not part.is_floating_point():
            return []
        return [
            came
            for came in self._gathers
            if len(came) == size and all(t.shape == part.shape and t.dtype == part.dtype for t in came)
        ]

    def forget(self):
        self._step, self._gathers = None, []
