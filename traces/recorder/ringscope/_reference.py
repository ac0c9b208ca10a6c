# SPDX-License-Identifier: Apache-2.0
"""The gradient of one small parameter, before and after the job sums it over ranks: how often the optimizer is given what
ranks computed. The output projection's gradient tells this too, unless its weight also embeds tokens."""

import torch

from ._session import observer
from ._pytorch import local_of

_MOST = 1 << 16  # elements


def _is_small(parameter):
    plain = parameter is local_of(parameter) and type(parameter) is torch.nn.Parameter
    return plain and parameter.requires_grad and parameter.dim() == 1 and 1 < parameter.numel() <= _MOST


def _projection(gradient):
    """Returns one number that is linear in the gradient, and whose parts seldom cancel."""
    flat = gradient.detach().double().flatten()
    return torch.dot(flat, torch.arange(flat.numel(), device=flat.device, dtype=flat.dtype).cos()).item()


class ReferenceGradient:
    def __init__(self, session):
        self.session = session
        self._parameter = self._hook = self._local = None
        self._name = ""

    def know(self, named):
        """Chooses the model's last vector that has a gradient, such as the weight of its last norm."""
        for name, parameter in reversed(named):
            if _is_small(parameter):
                self._name, self._parameter = name, parameter
                return

    def look(self, looks):
        """Begins or ends to follow the gradient."""
        self._local = None
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        if looks and self._parameter is not None:
            self._hook = self._parameter.register_post_accumulate_grad_hook(lambda parameter: self._accumulated())

    @observer
    def _accumulated(self):
        self._local = _projection(self._parameter.grad)

    def given(self):
        """Records the gradient that the optimizer is given, before clipping."""
        local, self._local = self._local, None
        if local is not None and self._parameter.grad is not None:
            given = _projection(self._parameter.grad)
            self.session.line(
                "reference_gradient", step=self.session.step, parameter=self._name, local=local, given=given
            )
