# SPDX-License-Identifier: Apache-2.0
"""Right cases of job.py whose microbatches differ, or whose loss is not that of each next token."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.nn.functional import all_reduce

from job import GPT, LENGTH, VOCABULARY, WIDTH, Job, angles
from right import TwoSequences


def beginnings(buffers, length):
    """Returns the first tokens of each buffer."""
    return {name: b[:length] if name == "rotations" else b[:, :length] for name, b in buffers.items()}


class OtherPositionsByMicrobatch(Job):
    """The positions of each microbatch begin elsewhere, which changes no score."""

    microbatches = 2

    def batch(self, step):
        return {**super().batch(step), "rotations": angles(torch.arange(LENGTH) + 17 * (step % 2))}


class OtherLengthsByMicrobatch(Job):
    microbatches = 2

    def batch(self, step):
        return beginnings(super().batch(step), LENGTH // (1 + step % 2))

    def count(self, buffers):
        return torch.tensor(LENGTH * 3 / 4)


class GroupsByMicrobatch(Job):
    """Dynamic context parallelism: all ranks share a long sequence, then pairs of ranks share a short one each."""

    dp = 2

    def step(self, step):
        tokens = torch.tensor(LENGTH + 2 * (LENGTH // 2))
        pairs, everybody = self.cp, init_device_mesh("cpu", (self.world,), mesh_dim_names=("cp",))["cp"]
        replica, self.replica, self.cp = self.replica, 0, everybody
        self.train_on(self.batch(2 * step), tokens)
        self.replica, self.cp = replica, pairs
        loss = self.train_on(beginnings(self.batch(2 * step + 1), LENGTH // 2), tokens)
        self.update(loss)


class AloneInAMicrobatch(Job):
    """All ranks share a long sequence, then each has a short one for itself."""

    def step(self, step):
        short = LENGTH // 2
        tokens = torch.tensor(LENGTH + self.world * short)
        self.train_on(self.batch(2 * step), tokens)
        generator = torch.Generator().manual_seed(10 * step + dist.get_rank())
        ids = torch.randint(VOCABULARY, (1, short + 1), generator=generator)
        buffers = {"ids": ids[:, :-1], "labels": ids[:, 1:].clone(), "rotations": angles(torch.arange(short))}
        loss = self.forward(buffers, tokens)
        loss.backward()
        self.update(loss)


class Distilled(Job):
    """The student learns the probabilities of a teacher that runs in the same context."""

    def forward(self, buffers, count):
        if not hasattr(self, "teacher"):
            torch.manual_seed(7)
            self.teacher = GPT()
        with torch.no_grad():
            meant = self.teacher(buffers["ids"], buffers["rotations"]).softmax(-1)
        student = self.logits(buffers)
        soft = F.kl_div(student.log_softmax(-1), meant, reduction="sum") / count
        return soft + self.loss(student, buffers["labels"], count)


class Preferences(TwoSequences):
    """DPO: the summed log-probabilities of a chosen and a rejected sequence, against those of a reference model."""

    prompt = 11

    def sums(self, model, buffers):
        logits = model(buffers["ids"], buffers["rotations"])
        labels = buffers["labels"]
        chosen = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
        return all_reduce((chosen * (labels != -100)).sum(-1), group=self.cp.get_group())

    def forward(self, buffers, count):
        if not hasattr(self, "reference"):
            torch.manual_seed(7)
            self.reference = GPT()
        with torch.no_grad():
            held = self.sums(self.reference, buffers)
        policy = self.sums(self.model, buffers)
        margin = (policy[0] - policy[1]) - (held[0] - held[1])
        return -F.logsigmoid(0.1 * margin) / self.world

    def report(self, loss):
        pass


class RewardOfLastToken(Job):
    """A scalar head on the last token of the sequence, which one rank has."""

    def make_model(self):
        model = super().make_model()
        model.score = nn.Linear(WIDTH, 1)
        return model

    def forward(self, buffers, count):
        hidden = self.model.hidden(buffers["ids"], buffers["rotations"])
        last = (buffers["places"] == LENGTH - 1)[..., None]
        reward = (self.model.score(hidden) * last).sum()
        return (reward - 0.3) ** 2 * last.any() + 0 * hidden.sum()

    def batch(self, step):
        return {**super().batch(step), "places": torch.arange(LENGTH)[None]}

    def report(self, loss):
        pass
