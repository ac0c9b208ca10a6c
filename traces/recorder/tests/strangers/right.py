# SPDX-License-Identifier: Apache-2.0
"""Right cases of job.py."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.nn.functional import all_gather
from torch.nn.parallel import DistributedDataParallel

from job import GPT, LENGTH, VOCABULARY, WIDTH, Block, Job, angles


class Plain(Job):
    pass


class Prompts(Job):
    prompt = 21


class Replicas(Job):
    """Two replicas of dp with a sequence each."""

    dp = 2
    prompt = 13


class LearnedPositions(Job):
    """Positions are embedded and not rotated."""

    def make_model(self):
        model = super().make_model()
        model.wpe = nn.Embedding(LENGTH, WIDTH)
        return model

    def batch(self, step):
        return {**super().batch(step), "places": torch.arange(LENGTH)[None]}

    def logits(self, buffers):
        model = self.model
        x = model.wte(buffers["ids"]) + model.wpe(buffers["places"])
        for block in model.h:
            x = block(x, None)
        return model.lm_head(model.ln_f(x))


class NoPositions(Job):
    """A model without positions: its keys depend on tokens alone."""

    def logits(self, buffers):
        model = self.model
        x = model.wte(buffers["ids"])
        for block in model.h:
            x = block(x, None)
        return model.lm_head(model.ln_f(x))


class RelativeAngles(Job):
    """All positions are moved by as much, which changes no score."""

    def batch(self, step):
        return {**super().batch(step), "rotations": angles(torch.arange(LENGTH) + 17)}


class EqualMeans(Job):
    """Ranks have as many targets each, so the mean of their means is right."""

    def loss(self, logits, labels, count):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten()) / self.world


class Averaged(Job):
    """Gradients are averaged, and the loss is multiplied by the number of ranks."""

    prompt = 21

    def loss(self, logits, labels, count):
        return super().loss(logits, labels, count) * self.world

    def sync(self):
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= self.world


class Sums(Job):
    """The loss is a sum over targets, and the gradients are divided by their number."""

    prompt = 21

    def loss(self, logits, labels, count):
        self.divisor = count
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")

    def sync(self):
        super().sync()
        for parameter in self.model.parameters():
            parameter.grad /= self.divisor


class Ddp(Job):
    dp = 2
    prompt = 13

    def make_model(self):
        return DistributedDataParallel(super().make_model())

    def loss(self, logits, labels, count):
        return super().loss(logits, labels, count) * self.world

    def sync(self):
        pass


class Fsdp(Ddp):
    def make_model(self):
        model = Job.make_model(self)
        mesh = self.mesh["dp", "cp"]._flatten("all")
        for block in model.h:
            fully_shard(block, mesh=mesh)
        return fully_shard(model, mesh=mesh)


class ReplicaMeans(Ddp):
    """Each replica's loss is the mean over its own targets, and DDP averages the replicas."""

    def count(self, buffers):
        return (buffers["labels"] != -100).sum()

    def loss(self, logits, labels, count):
        return super().loss(logits, labels, count) / self.dp


class Clipped(Job):
    def sync(self):
        super().sync()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)


class Accumulated(Job):
    microbatches = 3
    prompt = 13


class Smoothed(Job):
    def loss(self, logits, labels, count):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum", label_smoothing=0.1) / count


class ZLoss(Job):
    def loss(self, logits, labels, count):
        return super().loss(logits, labels, count) + 1e-3 * logits.logsumexp(-1).square().sum() / count


class Autocast(Job):
    prompt = 21

    def logits(self, buffers):
        with torch.autocast("cpu", torch.bfloat16):
            return super().logits(buffers).float()


class Bfloat16(Job):
    def make_model(self):
        return super().make_model().bfloat16()

    def logits(self, buffers):
        return super().logits(buffers).float()


class Tied(Job):
    def make_model(self):
        model = super().make_model()
        model.lm_head.weight = model.wte.weight
        return model


class OwnScale(Job):
    def make_model(self):
        model = super().make_model()
        for block in model.h:
            block.scale = 0.5
        return model


class ScaleOfModule(Job):
    """The module states its scale and gives it to attention."""

    def make_model(self):
        model = super().make_model()
        for block in model.h:
            block.softmax_scale = block.scale = 0.5
        return model


class GatheringBlock(Block):
    """Attention of its own: keys and values of all ranks are gathered, and each rank has equal parts of the tokens."""

    softcap = None

    def attend(self, q, k, v):
        sinks = getattr(self, "sinks", None)
        return gathered_attention(q, k, v, self.scale or q.shape[-1] ** -0.5, self.softcap, sinks)


class Gather(torch.autograd.Function):
    """The tokens of all ranks of a group, [B, H, S, D]."""

    @staticmethod
    def forward(ctx, x, group=None):
        ctx.group = group
        parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x.contiguous(), group=group)
        return torch.cat(parts, 2)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient.chunk(dist.get_world_size(ctx.group), 2)[dist.get_rank(ctx.group)], None


def gathered_attention(q, k, v, scale, softcap, sinks):
    k, v = Gather.apply(k), Gather.apply(v)
    scores = scale * q @ k.transpose(-1, -2)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    rows = torch.arange(q.shape[2]) + q.shape[2] * dist.get_rank()
    scores = scores.masked_fill(torch.arange(k.shape[2]) > rows[:, None], -torch.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks[None, :, None, None].expand(*scores.shape[:3], 1)], -1)
    return scores.softmax(-1)[..., : k.shape[2]] @ v


class Gathering(Job):
    block = GatheringBlock

    def make_model(self):
        model = super().make_model()
        for block in model.h:
            block.__class__ = self.block
            self.prepare(block)
        return model

    def prepare(self, block):
        """Gives attention what it has beside a causal mask."""

    def train_on(self, buffers, count):
        rank, size = self.cp.get_local_rank(), self.cp.size()
        own = {name: part.chunk(size, self.dimension(name))[rank].contiguous() for name, part in buffers.items()}
        loss = self.forward(own, count)
        loss.backward()
        return loss


class Softcap(Gathering):
    def prepare(self, block):
        block.softcap = 0.5


class Sinks(Gathering):
    def prepare(self, block):
        block.sinks = nn.Parameter(torch.tensor([-1.0, 0.5, 1.0, 2.0]))


class SinksWithoutAName(Sinks):
    """Nothing that is recorded holds the sinks."""

    def prepare(self, block):
        block.sinks = torch.tensor([-1.0, 0.5, 1.0, 2.0])


class SoftcapWithoutAName(Gathering):
    class block(GatheringBlock):
        def attend(self, q, k, v):
            return gathered_attention(q, k, v, q.shape[-1] ** -0.5, 0.5, None)


class FurtherHead(Job):
    """A second head predicts the token after the next."""

    def make_model(self):
        model = super().make_model()
        model.further = nn.Linear(WIDTH, VOCABULARY, bias=False)
        return model

    def batch(self, step):
        buffers = super().batch(step)
        return {**buffers, "further_labels": self.later(buffers["labels"])}

    def later(self, labels):
        return F.pad(labels[:, 1:], (0, 1), value=-100)

    def forward(self, buffers, count):
        hidden = self.model.hidden(buffers["ids"], buffers["rotations"])
        main = self.loss(self.model.lm_head(hidden), buffers["labels"], count)
        return main + 0.3 * self.loss(self.model.further(hidden), buffers["further_labels"], count)


class LossMask(Job):
    """The loss is weighted by a mask that is cut with the tokens."""

    def batch(self, step):
        random = torch.Generator().manual_seed(step)
        return {**super().batch(step), "loss_mask": (torch.rand(1, LENGTH, generator=random) < 0.5).float()}

    def count(self, buffers):
        return buffers["loss_mask"].sum()

    def forward(self, buffers, count):
        each = F.cross_entropy(self.logits(buffers).flatten(0, 1), buffers["labels"].flatten(), reduction="none")
        return (each * buffers["loss_mask"].flatten()).sum() / count


class Advantages(LossMask):
    """Each token's loss is weighted by a number of its own."""

    def batch(self, step):
        advantages = torch.randn(1, LENGTH, generator=torch.Generator().manual_seed(step))
        return {**Job.batch(self, step), "loss_mask": advantages}

    def count(self, buffers):
        return LENGTH


class Teacher(Job):
    """Distillation: the loss is the divergence from a teacher's logits, which are cut with the tokens."""

    def batch(self, step):
        teacher = torch.randn(1, LENGTH, VOCABULARY, generator=torch.Generator().manual_seed(step))
        return {**super().batch(step), "teacher": teacher}

    def forward(self, buffers, count):
        student = self.logits(buffers).log_softmax(-1)
        return F.kl_div(student, buffers["teacher"].softmax(-1), reduction="sum") / count


class Gathered(Job):
    """Every rank computes the loss of all gathered logits. Backward sums what ranks bring, so each takes its part."""

    def batch(self, step):
        self.whole = super().batch(step)["labels"]
        return super().batch(step)

    def forward(self, buffers, count):
        own = self.logits(buffers)
        labels = torch.cat([part.clone() for part in self.gather(buffers["labels"])], 1)
        logits = torch.cat(all_gather(own, group=self.cp.get_group()), 1)
        return self.loss(logits, labels, count) / self.share()

    def gather(self, part):
        parts = [torch.empty_like(part) for _ in range(self.cp.size())]
        dist.all_gather(parts, part.contiguous(), group=self.cp.get_group())
        return parts

    def share(self):
        return self.cp.size()


class EvaluatedBetween(Job):
    def step(self, step):
        super().step(step)
        buffers = self.batch(1000 + step)
        with torch.no_grad(), self.sharded(buffers):
            loss = self.forward(buffers, LENGTH)
        self.report(loss)


class EqualWeightsByBroadcast(Job):
    """Ranks make different weights, and rank 0 sends its own."""

    def make_model(self):
        torch.manual_seed(dist.get_rank())
        model = GPT()
        for parameter in model.parameters():
            dist.broadcast(parameter.data, 0)
        return model


class RepeatedTokens(Job):
    """Few different tokens, so the same token is at the same local place of several ranks."""

    def sequence(self, step):
        return super().sequence(step) % 3


class TwoSequences(Job):
    def sequence(self, step):
        return torch.cat([super(TwoSequences, self).sequence(step), super(TwoSequences, self).sequence(step + 50)])


class ThreePositions(GPT):
    """A model whose positions have three axes (time, height, width), each of which turns a part of a head."""

    def forward(self, idx, position_ids):
        turns = angles(position_ids)
        axes = torch.arange(turns.shape[-1]) % 3
        rotations = sum(turns[axis] * (axes == axis) for axis in range(3))
        return self.lm_head(self.hidden(idx, rotations[:, None, : idx.shape[1]]))


class MediaPositions(TwoSequences):
    """Positions of [3, batch, sequence], as of models with images."""

    def make_model(self):
        torch.manual_seed(0)
        return ThreePositions()

    def batch(self, step):
        buffers = super().batch(step)
        del buffers["rotations"]
        places = torch.arange(LENGTH).expand(3, 2, LENGTH).clone()
        places[1:, :, 8:24] = torch.arange(16) // 4 + 8  # an image of 4 × 4
        return {**buffers, "places": places}

    def dimension(self, name):
        return 2 if name == "places" else 1

    def logits(self, buffers):
        return self.model(buffers["ids"], buffers["places"])


class BackwardInAnotherContext(Job):
    """Forward and backward have a context each, of copies of the same batch."""

    def train_on(self, buffers, count):
        copies = [{name: buffer.clone() for name, buffer in buffers.items()} for _ in range(2)]
        with self.sharded(copies[0]):
            loss = self.forward({name: buffer.clone() for name, buffer in copies[0].items()}, count)
        with self.sharded(copies[1]):
            loss.backward()
        return loss
