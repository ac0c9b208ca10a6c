# SPDX-License-Identifier: Apache-2.0
"""Right cases of job.py with other losses, several models, or masks that the job makes itself."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from job import GPT, LENGTH, Job
from right import FurtherHead, Gather, Gathering, GatheringBlock, TwoSequences


class FurtherHeadFirst(FurtherHead):
    """The loss of the further head comes first, and has more targets than the main one."""

    def batch(self, step):
        buffers = super().batch(step)
        buffers["labels"][:, :9] = -100
        return buffers

    def forward(self, buffers, count):
        hidden = self.model.hidden(buffers["ids"], buffers["rotations"])
        further = self.loss(self.model.further(hidden), buffers["further_labels"], count)
        return 0.3 * further + self.loss(self.model.lm_head(hidden), buffers["labels"], count)


class PickedTokens(Job):
    """The job picks log-probabilities by itself, and masks those of the prompt."""

    prompt = 21

    def loss(self, logits, labels, count):
        kept = labels != -100
        picked = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        return -(picked * kept).sum() / count


class PickedLogits(PickedTokens):
    """The same as a difference of a logit and their log Σ exp."""

    def loss(self, logits, labels, count):
        picked = logits.gather(-1, labels.clamp(min=0)[..., None])[..., 0] - logits.logsumexp(-1)
        return -(picked * (labels != -100)).sum() / count


class Preferences(TwoSequences):
    """The first of two sequences is preferred. Their log-probabilities are summed over the ranks."""

    def sums(self, own):
        whole = own.detach().clone()
        dist.all_reduce(whole)
        return own + (whole - own.detach())

    def forward(self, buffers, count):
        picked = self.logits(buffers).log_softmax(-1).gather(-1, buffers["labels"][..., None])[..., 0]
        better, worse = self.sums(picked.sum(1))
        return -F.logsigmoid(0.1 * (better - worse))


class SequenceMeans(TwoSequences):
    """Each of two answers has an advantage, and counts as the mean of its tokens."""

    def batch(self, step):
        buffers = super().batch(step)
        begins = torch.tensor([[11], [29]])
        return {**buffers, "mask": (torch.arange(LENGTH) >= begins).float()}

    def lengths(self, mask):
        lengths = mask.sum(1)
        dist.all_reduce(lengths)
        return lengths

    def forward(self, buffers, count):
        logits, mask = self.logits(buffers), buffers["mask"]
        picked = logits.gather(-1, buffers["labels"][..., None])[..., 0] - logits.logsumexp(-1)
        ratio = (picked - picked.detach()).exp()
        means = (ratio * mask).sum(1) / self.lengths(mask).clamp(min=1)
        return -(means * torch.tensor([1.3, -0.7])).sum() / 2


class MovingTeacher(Job):
    """A second model, of averaged weights, teaches the first one in the same step."""

    def make_model(self):
        model = super().make_model()
        self.teacher = copy.deepcopy(model).requires_grad_(False)
        return model

    def turns(self, buffers):
        return buffers["rotations"]

    def forward(self, buffers, count):
        logits = self.logits(buffers)
        with torch.no_grad():
            taught = self.teacher(buffers["ids"], self.turns(buffers)).softmax(-1)
        divergence = F.kl_div(logits.log_softmax(-1), taught, reduction="sum")
        return self.loss(logits, buffers["labels"], count) + 0.5 * divergence / count


class Chunks(Job):
    """The loss is computed in chunks of the sequence, and again in backward."""

    prompt = 21

    def chunk(self, hidden, labels, count):
        return self.loss(self.model.lm_head(hidden), labels, count)

    def forward(self, buffers, count):
        hidden = self.model.hidden(buffers["ids"], buffers["rotations"])
        chunks = zip(hidden.chunk(4, 1), buffers["labels"].chunk(4, 1))
        return sum(checkpoint(self.chunk, h, labels, count, use_reentrant=False) for h, labels in chunks)


class OfEmbeddings(GPT):
    def forward(self, embeddings, rotations):
        for block in self.h:
            embeddings = block(embeddings, rotations)
        return self.lm_head(self.ln_f(embeddings))


class PartsFirst(Job):
    """The job embeds the tokens itself before it calls the model."""

    microbatches = 2

    def make_model(self):
        torch.manual_seed(0)
        return OfEmbeddings()

    def logits(self, buffers):
        return self.model(self.model.wte(buffers["ids"]), buffers["rotations"])


class MaskedBlock(GatheringBlock):
    def attend(self, q, k, v):
        k, v = Gather.apply(k), Gather.apply(v)
        rows = torch.arange(q.shape[2]) + q.shape[2] * dist.get_rank()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask(rows[:, None], torch.arange(k.shape[2])))


class Prefix(Gathering):
    """The first tokens attend all of each other."""

    class block(MaskedBlock):
        def mask(self, rows, keys):
            return (keys <= rows) | (keys < 16)


class WindowAndPrefix(Gathering):
    """Ten tokens attend all of each other; the others attend a window."""

    class block(MaskedBlock):
        def mask(self, rows, keys):
            return ((keys <= rows) & (keys > rows - 24)) | ((keys < 10) & (rows < 10))


class WindowAndFirstTokens(Gathering):
    """Each token attends a window, and the first four tokens."""

    class block(MaskedBlock):
        def mask(self, rows, keys):
            return (keys <= rows) & ((keys > rows - LENGTH // 4) | (keys < 4))
