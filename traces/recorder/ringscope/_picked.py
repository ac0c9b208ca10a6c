# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities of tokens that a job picks by itself, as losses of preferences and policies do."""

import functools

import torch

from ._loss_gradient import LogitsGradient, LogitsPath
from ._session import observer

_MOST_ENTRIES = 64  # of a batch, whose weights are recorded apart


def _is_of_tokens(logits, index):
    """Reports whether `index` [..., 1] picks one class of each row of `logits` [..., classes]."""
    return (
        logits.dim() > 1
        and logits.is_floating_point()
        and index.dtype == torch.int64
        and index.dim() == logits.dim()
        and index.shape[-1] == 1
        and index.shape[:-1] == logits.shape[:-1]
        and logits.shape[-1] > 1
    )


def _by_entry(counting, rows, weights):
    """Returns the number of targets and the least and the largest weight of each batch entry of `counting` [B, S]."""
    if counting.dim() != 2 or counting.shape[0] > _MOST_ENTRIES:
        return []
    found = [[] for _ in counting]
    for row, weight in zip(rows, weights):
        found[row // counting.shape[1]].append(weight)
    counts = counting.sum(1).tolist()
    return [
        {"targets": count, "least": min(some, default=None), "most": max(some, default=None)}
        for count, some in zip(counts, found)
    ]


class PickedObserver:
    """An observer of `log_softmax(logits).gather(-1, tokens)`, and of `logits.gather(-1, tokens) - logits.logsumexp(-1)`
    in either order. The job makes a loss of these log-probabilities by itself, so a line has no sum. The gradient of the
    logits tells which rows count, and how much each does."""

    def __init__(self, session, losses):
        self.session = session
        self.losses = losses
        self.restart()

    def restart(self):
        self._normalized = (None, None)  # the address of log-probabilities, and their logits
        self._summed = set()  # addresses of storages with logits of which log Σ exp was taken
        self._waiting = []  # logits and index without log Σ exp so far

    def operators(self):
        aten = torch.ops.aten
        return {aten.gather.default: self.gather, aten.logsumexp.default: self.logsumexp}

    def normalizes(self, results, logits):
        """Notes the logits of a log_softmax, which autograd keeps as well."""
        self._normalized = (None, None) if logits.grad_fn is None else (results.data_ptr(), logits)

    @observer
    def gather(self, args, kwargs, results):
        source, dim, index = args[:3]
        if dim not in (-1, source.dim() - 1) or not _is_of_tokens(source, index):
            return
        address, logits = self._normalized
        if address == source.data_ptr() and logits.shape == source.shape:
            self.restart()
            self.picked(logits, source.detach(), index)
        elif source.untyped_storage().data_ptr() in self._summed:
            self.picked(source, None, index)
        elif source.grad_fn is not None:
            self._waiting = [*self._waiting[-1:], (source, index)]

    @observer
    def logsumexp(self, args, kwargs, results):
        self.losses.saves_hooked |= torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
        storage = args[0].untyped_storage().data_ptr()
        found = [pair for pair in self._waiting if pair[0].untyped_storage().data_ptr() == storage]
        if not found and args[0].grad_fn is not None:
            self._summed = {storage}
        self._waiting = []
        for logits, index in found:
            self._summed = set()
            self.picked(logits, None, index)

    def picked(self, logits, log_probabilities, index):
        if logits.grad_fn is None:
            return
        session, losses = self.session, self.losses
        path = LogitsPath(logits)
        number = losses.next_number()
        targets = index.squeeze(-1)
        everything = torch.ones_like(targets, dtype=torch.bool)
        said = functools.partial(self.gradient, number, targets.detach())
        LogitsGradient(logits, log_probabilities, targets, everything, 0.0, path, said, counts_rows=True)
        session.line(
            "loss",
            **session.place(layer=None),
            operator="picked",
            number=number,
            smoothing=0.0,
            grad=True,
            made=losses.made_by(path),
            sum=None,
            targets=targets.numel(),
            weighted=False,
            reduction="none",
            ignore_index=-100,
            shape=list(targets.shape),
            tensors={
                "targets": session.tensor("targets", targets, layer=None),
                "logits": session.tensor("logits", logits, layer=None),
            },
            target_buffer=losses.buffers.named.get(targets.untyped_storage().data_ptr(), ""),
        )

    @observer
    def gradient(self, number, targets, compared):
        """Writes the gradient of the logits, and the targets of the rows that have one."""
        facts = compared()
        counting = facts.pop("counting").reshape(targets.shape)
        rows, weights = facts.pop("each")
        used = targets.where(counting, torch.full_like(targets, -100))
        self.session.line(
            "loss_gradient",
            **self.session.place(layer=None),
            number=number,
            targets=int(counting.sum().item()),
            entries=_by_entry(counting, rows, weights),
            used=self.session.tensor("targets", used, layer=None),
            **facts,
        )
