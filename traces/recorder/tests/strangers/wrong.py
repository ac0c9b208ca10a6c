# SPDX-License-Identifier: Apache-2.0
"""Wrong cases of job.py. Each has a right twin in right.py or job.py."""

import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.experimental._attention import _cp_options
from torch.nn.parallel import DistributedDataParallel

import right
from job import GPT, LENGTH, Job, angles

POSITIONS = "missing_position_ids"


class RestartedRotations(Job):
    finding = POSITIONS

    def logits(self, buffers):
        return self.model(buffers["ids"])


class RestartedRotationsOfFour(right.Replicas):
    finding = POSITIONS

    def logits(self, buffers):
        return self.model(buffers["ids"])


class RestartedPlaces(right.LearnedPositions):
    finding = POSITIONS

    def logits(self, buffers):
        return super().logits({**buffers, "places": torch.arange(buffers["ids"].shape[1])[None]})


class RotationsNotCut(Job):
    """The table of the whole sequence is taken from its start."""

    finding = POSITIONS

    def cut(self, buffers):
        return ["ids", "labels"]

    def logits(self, buffers):
        return self.model(buffers["ids"], buffers["rotations"][: buffers["ids"].shape[1]])


class RestartedInDocuments(right.TwoSequences):
    finding = POSITIONS

    def logits(self, buffers):
        return self.model(buffers["ids"])


class MeanOfMeans(right.Prompts):
    finding = "mean_of_local_means"

    def loss(self, logits, labels, count):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten()) / self.world


class MeanOfMeansOfDdp(right.Ddp):
    finding = "mean_of_local_means"

    def loss(self, logits, labels, count):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


class AccumulatedMeans(right.Accumulated):
    finding = "accumulation_mean_of_means"

    def batch(self, step):
        self.prompt = 13 * (step % 3)
        return super().batch(step)


class LossTimesCp(right.Prompts):
    finding = ("loss_scaled_by_cp", "grad_scaled_by_cp")

    def loss(self, logits, labels, count):
        return super().loss(logits, labels, count) * self.cp.size()


class LossDividedByCp(right.Prompts):
    finding = ("loss_scaled_by_cp", "grad_scaled_by_cp")

    def loss(self, logits, labels, count):
        return super().loss(logits, labels, count) / self.cp.size()


class GradientsAveraged(right.Prompts):
    finding = ("loss_scaled_by_cp", "grad_scaled_by_cp")

    def sync(self):
        super().sync()
        for parameter in self.model.parameters():
            parameter.grad /= self.cp.size()


class DdpAverages(right.Ddp):
    finding = ("loss_scaled_by_cp", "grad_scaled_by_cp")
    dp = 1

    def loss(self, logits, labels, count):
        return Job.loss(self, logits, labels, count)


class FsdpAverages(right.Fsdp):
    finding = ("loss_scaled_by_cp", "grad_scaled_by_cp")
    dp = 1

    def loss(self, logits, labels, count):
        return Job.loss(self, logits, labels, count)


class CountedOverCp(right.Prompts):
    """Every rank counts the whole sequence's targets, and their sum over cp is cp times as many."""

    finding = ("loss_scaled_by_cp", "grad_scaled_by_cp")

    def count(self, buffers):
        count = (buffers["labels"] != -100).sum()
        dist.all_reduce(count, group=self.cp.get_group())
        return count


class CountedAfterCut(right.Prompts):
    """Every rank divides by its own targets and gradients are summed: a mean for each rank."""

    finding = "mean_of_local_means"

    def loss(self, logits, labels, count):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="mean")


class CountedOverDpOnly(right.Replicas):
    """Each rank's own targets, summed over dp instead of dp and cp."""

    finding = "mean_of_local_means"

    def loss(self, logits, labels, count):
        own = (labels != -100).sum()
        dist.all_reduce(own, group=self.mesh["dp"].get_group())
        return super().loss(logits, labels, own)


class NoSync(Job):
    finding = "missing_cp_grad_reduce"

    def sync(self):
        pass


class SyncOverDp(right.Replicas):
    finding = "missing_cp_grad_reduce"

    def sync(self):
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad, group=self.mesh["dp"].get_group())


class DdpOverDp(right.Ddp):
    finding = "missing_cp_grad_reduce"

    def make_model(self):
        return DistributedDataParallel(Job.make_model(self), process_group=self.mesh["dp"].get_group())


class FsdpOverDp(right.Ddp):
    finding = "missing_cp_grad_reduce"

    def make_model(self):
        return fully_shard(Job.make_model(self), mesh=self.mesh["dp"])


class ClippedBefore(Job):
    finding = "clip_before_reduce"

    def sync(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
        super().sync()


class ShiftedPerShard(Job):
    finding = "shift_labels_per_shard"
    prompt = 5

    def forward(self, buffers, count):
        labels = F.pad(buffers["ids"][:, 1:], (0, 1), value=-100)
        labels[buffers["labels"] == -100] = -100
        return self.loss(self.logits(buffers), labels, count)


class ShiftedTwice(Job):
    finding = "labels_shifted_twice"

    def forward(self, buffers, count):
        labels = F.pad(buffers["labels"][:, 1:], (0, 1), value=-100)
        return self.loss(self.logits(buffers), labels, count)


class BatchPerRank(Job):
    finding = "different_batches_on_cp_ranks"

    def sequence(self, step):
        return super().sequence(step + 10 * dist.get_rank())


class SameBatch(right.Replicas):
    """In one recorded step, replicas may have the same batch by right."""

    finding = None
    steps = 3

    def sequence(self, step):
        self.replica = 0
        return super().sequence(step)


class LabelsNotCut(Job):
    """Labels are cut in order, and tokens head to tail."""

    finding = "balance_differs_between_buffers"

    def cut(self, buffers):
        return ["ids", "rotations"]

    def forward(self, buffers, count):
        labels = buffers["labels"].chunk(self.cp.size(), 1)[self.cp.get_local_rank()]
        return self.loss(self.logits(buffers), labels, count)


class WrongDimension(right.TwoSequences):
    finding = "wrong_buffer_dim"

    def sequence(self, step):
        return torch.cat([super(WrongDimension, self).sequence(step + 10 * i) for i in range(self.cp.size())])

    def cut(self, buffers):
        return ["ids", "labels"]

    def dimension(self, name):
        return 0


class MaskInOrder(right.LossMask):
    """Nothing of a mask that the job cuts itself is recorded."""

    finding = None

    def cut(self, buffers):
        return ["ids", "labels", "rotations"]

    def forward(self, buffers, count):
        own = buffers["loss_mask"].chunk(self.cp.size(), 1)[self.cp.get_local_rank()]
        return super().forward({**buffers, "loss_mask": own}, count)


class AdvantagesInOrder(right.Advantages, MaskInOrder):
    pass


class TeacherInOrder(right.Teacher):
    finding = None  # as MaskInOrder

    def cut(self, buffers):
        return ["ids", "labels", "rotations"]

    def forward(self, buffers, count):
        own = buffers["teacher"].chunk(self.cp.size(), 1)[self.cp.get_local_rank()]
        return super().forward({**buffers, "teacher": own}, count)


class GatheredTwice(right.Gathered):
    finding = "gathered_backward_counted_twice"

    def share(self):
        return 1


class DifferentWeights(Job):
    finding = "unknown_mistake"

    def make_model(self):
        torch.manual_seed(dist.get_rank())
        return GPT()


class ScaleOfOneRank(Job):
    finding = "unknown_mistake"

    def make_model(self):
        model = super().make_model()
        if dist.get_rank() == 1:
            model.h[1].scale = 0.5
        return model


class ScaleDropped(right.ScaleOfModule):
    finding = "attention_scale_dropped"

    def make_model(self):
        model = super().make_model()
        for block in model.h:
            block.scale = None
        return model


class ScaleOfRingDropped(right.Gathering):
    finding = "attention_scale_dropped"

    def prepare(self, block):
        block.softmax_scale = 0.5


class SoftcapDropped(right.Softcap):
    finding = "softcap_dropped"

    class block(right.GatheringBlock):
        def attend(self, q, k, v):
            return right.gathered_attention(q, k, v, q.shape[-1] ** -0.5, None, None)


class SinksDropped(right.Sinks):
    finding = "sinks_dropped"

    class block(right.GatheringBlock):
        def attend(self, q, k, v):
            return right.gathered_attention(q, k, v, q.shape[-1] ** -0.5, None, None)


class SinksOnEveryBlock(right.Sinks):
    """A row that attends the keys of n ranks has n sinks."""

    finding = "sinks_on_every_block"

    class block(right.GatheringBlock):
        def attend(self, q, k, v):
            sinks = self.sinks + math.log(dist.get_rank() + 1)
            return right.gathered_attention(q, k, v, q.shape[-1] ** -0.5, None, sinks)


class EmptyBlocksCount(right.Gathering):
    """A rank without a key for a row counts as a block whose log-sum-exp is 0."""

    finding = "neutral_element_wrong"

    class block(right.GatheringBlock):
        def attend(self, q, k, v):
            empty = dist.get_world_size() - 1 - dist.get_rank()
            sinks = torch.full((q.shape[1],), math.log(empty)) if empty else None
            return right.gathered_attention(q, k, v, q.shape[-1] ** -0.5, None, sinks)


class SinksOfOtherHeads(right.Sinks):
    finding = "sinks_not_cut_by_heads"

    class block(right.GatheringBlock):
        def attend(self, q, k, v):
            sinks = self.sinks[: len(self.sinks) // dist.get_world_size()].repeat(dist.get_world_size())
            return right.gathered_attention(q, k, v, q.shape[-1] ** -0.5, None, sinks)


class FurtherLabelsRolled(right.FurtherHead):
    finding = "future_tokens_rolled_in_shard"

    def forward(self, buffers, count):
        return super().forward({**buffers, "further_labels": self.later(buffers["labels"])}, count)


class OwnTokensAlone(Job):
    """Attention outside of the context: each rank attends its own tokens."""

    finding = ("ring_bypassed", "cp_not_applied", "unknown_mistake")

    def train_on(self, buffers, count):
        with self.sharded(buffers):
            own = {name: buffer.clone() for name, buffer in buffers.items()}
        loss = self.forward(own, count)
        loss.backward()
        return loss


class SummedActivations(Job):
    """Tensor parallelism of the MLP over the cp ranks, whose tokens differ."""

    finding = "wrong_process_group"

    def make_model(self):
        model = super().make_model()
        group = self.cp.get_group()

        class Sum(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x = x.clone()
                dist.all_reduce(x, group=group)
                return x

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        for block in model.h:
            block.mlp.register_forward_hook(lambda module, args, out: Sum.apply(out / group.size()))
        return model


class PositionsInOrder(Job):
    """Rotations are cut in order, and tokens head to tail."""

    finding = "balance_differs_between_buffers"

    def cut(self, buffers):
        return ["ids", "labels"]

    def logits(self, buffers):
        return self.model(buffers["ids"], buffers["rotations"].chunk(self.cp.size())[self.cp.get_local_rank()])


class AcrossDocuments(Job):
    """Positions start again at each document, and attention crosses documents."""

    finding = "documents_ignored"

    def batch(self, step):
        return {**super().batch(step), "rotations": angles(torch.arange(LENGTH) % (LENGTH // (4 * self.world)))}


class BackwardOutside(Job):
    """Backward finds no way to compute attention on the CPU; on a GPU it computes it otherwise."""

    finding = "backward_outside_context"
    fails = True

    def train_on(self, buffers, count):
        with self.sharded(buffers):
            loss = self.forward({name: buffer.clone() for name, buffer in buffers.items()}, count)
        loss.backward()
        return loss


class BackwardOfRestoredBuffers(Job):
    """Backward needs the buffers as they were before the context ended."""

    finding = "backward_outside_context"
    fails = True

    def train_on(self, buffers, count):
        with self.sharded(buffers):
            loss = self.forward(buffers, count)
        loss.backward()
        return loss


class MediaPositionsCutByBatch(right.MediaPositions):
    """As many sequences as ranks, so that each rank gets the positions of one sequence, from its beginning."""

    finding = "media_cut_wrongly"

    def make_model(self):
        _cp_options.enable_load_balance = False
        return super().make_model()

    def dimension(self, name):
        return 1


class BalancedMediaPositionsCutByBatch(right.MediaPositions):
    """The order of a balance has more entries than there are sequences, so that PyTorch refuses."""

    finding = "media_cut_wrongly"
    fails = True

    def dimension(self, name):
        return 1


class MediaAxesCut(right.MediaPositions):
    """The axes are cut, of which two ranks cannot have as many each."""

    finding = "media_cut_wrongly"
    fails = True

    def dimension(self, name):
        return 0 if name == "places" else 1
