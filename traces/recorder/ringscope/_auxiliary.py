# SPDX-License-Identifier: Apache-2.0
"""Losses that a job adds to the cross entropy, such as the load-balancing loss of a router, and what they count in
the gradient."""

from ._session import observer


class AuxiliaryObserver:
    def __init__(self, session):
        self.session = session
        self._number = 0

    def of_output(self, output, config):
        """Takes the load-balancing loss that a model of Transformers returns and weighs as its configuration says. It
        is a mean over the rank's tokens."""
        loss, weight = getattr(output, "aux_loss", None), getattr(config, "router_aux_loss_coef", None)
        if isinstance(weight, float) and getattr(loss, "grad_fn", None) is not None and loss.numel() == 1:
            self.takes(loss, weight, False)

    @observer
    def takes(self, loss, weight, part):
        """Waits for the gradient of a loss that is meant to have this weight, and records both."""
        if loss.grad_fn is None:
            return
        self._number += 1
        number, at = self._number, loss.output_nr
        value = float(loss.detach().item())

        def came(gradients):
            if gradients[at] is not None:
                self.arrived(number, weight, part, value, gradients[at])

        loss.grad_fn.register_prehook(came)

    @observer
    def arrived(self, number, weight, part, value, gradient):
        self.session.line(
            "auxiliary_loss",
            **self.session.place(layer=None),
            number=number,
            weight=weight,
            part=part,
            value=value,
            gradient=float(gradient.detach().sum().item()),
        )
