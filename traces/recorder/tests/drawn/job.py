# SPDX-License-Identifier: Apache-2.0
"""Runs drawn jobs one after the other and records each. KIND is a key of JOBS. Nothing in them declares, annotates or
logs anything.

    python job.py PROCESSES FOLDER KIND SEED CASE CASE ...

It forks the processes, so that all of them import PyTorch once.
"""

import contextlib
import os
import signal
import sys
import traceback

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.experimental import _attention as cp_module
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.parallel import DistributedDataParallel

import ringscope
from attention import KINDS, Mask, tokens_of
from draw import draw, draw_labels
from losses import FusedLoss, sum_of_losses
from model import Decoder
from pretrained import Pretrained

AUTOCAST = {"autocast": torch.bfloat16, "autocast_upcast": torch.bfloat16, "float16_scaler": torch.float16}


class DrawnJob:
    def __init__(self, drawn, mesh):
        self.drawn, self.mesh, self.cp = drawn, mesh, mesh["cp"]
        self.replica = mesh["dp"].get_local_rank()
        self.documents = self.cut_documents()
        self.pytorch = drawn.attention == "context_parallel"
        cp_module._cp_options.enable_load_balance = drawn.balanced
        mask = Mask(drawn.length, drawn.window, self.documents)
        repeats = drawn.heads // drawn.kv_heads
        if self.pytorch:
            cp_module.set_rotate_method(drawn.rotate_method)
            run = self.under_context_parallel
        elif drawn.attention == "flex_plan":
            import flex_plan  # which older versions of PyTorch lack

            run = flex_plan.FlexPlan(self.cp, mask, drawn.length, repeats, drawn.scale)
        else:
            run = KINDS[drawn.attention](self.cp.get_group(), drawn.layout, mask, drawn.length, repeats, drawn.scale,
                                         drawn.softcap)
        torch.manual_seed(drawn.seed)
        self.plain = Decoder(drawn, run) if drawn.model == "own" else Pretrained(drawn)
        if drawn.precision == "bfloat16":
            self.plain.bfloat16()
        self.model = self.wrap()
        trained = [p for p in self.plain.parameters() if p.requires_grad]
        self.optimizer = {
            "adamw": lambda: torch.optim.AdamW(trained, lr=1e-3),
            "sgd": lambda: torch.optim.SGD(trained, lr=0.05),
            "momentum": lambda: torch.optim.SGD(trained, lr=0.05, momentum=0.9, nesterov=True),
        }[drawn.optimizer]()
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=drawn.precision == "float16_scaler")

    def under_context_parallel(self, q, k, v):
        repeats = self.drawn.heads // self.drawn.kv_heads
        k, v = (x.repeat_interleave(repeats, 1) if repeats > 1 else x for x in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.drawn.scale)

    def cut_documents(self):
        """Returns the document of each token, [length] or, where sequences differ, [batch, length]."""
        drawn, random = self.drawn, torch.Generator().manual_seed(self.drawn.seed)
        sequences = drawn.batch if drawn.documents_differ else 1
        starts = torch.zeros(sequences, drawn.length, dtype=torch.long)
        for row in starts:
            borders = torch.randperm(drawn.length - 1, generator=random)[: drawn.documents - 1] + 1
            if drawn.equal_documents:
                borders = torch.arange(1, drawn.documents) * drawn.length // drawn.documents
            row[borders] = 1
        documents = starts.cumsum(1)
        return documents if drawn.documents_differ else documents[0]

    def wrap(self):
        if self.drawn.sync == "ddp":
            return DistributedDataParallel(self.plain)
        if self.drawn.sync == "fsdp":
            mesh = self.mesh["dp", "cp"]._flatten("all")
            for layer in getattr(self.plain, self.plain.names[1]):
                fully_shard(layer, mesh=mesh)
            return fully_shard(self.plain, mesh=mesh)
        return self.plain

    def make_batch(self, number):
        """Returns the whole batch of this replica: tokens, labels that are already shifted, and positions."""
        drawn = self.drawn
        random = torch.Generator().manual_seed(drawn.seed + 1000 * number + self.replica)
        tokens = torch.randint(drawn.vocabulary, (drawn.batch, drawn.length + 1), generator=random)
        labels = tokens[:, 1:].clone()  # of the next token
        if "prompts" in drawn.labels:
            for row, end in enumerate(torch.randint(1, drawn.length - 1, (drawn.batch,), generator=random)):
                labels[row, :end] = -100
        if "padding" in drawn.labels:
            begins = torch.randint(drawn.length // 2, drawn.length, (drawn.batch,), generator=random)
            for row, begin in enumerate(begins):
                labels[row, begin:], tokens[row, begin + 1 :] = -100, 0
        if "random" in drawn.labels:
            labels[torch.rand(labels.shape, generator=random) < 0.15] = -100
        if "borders" in drawn.labels:
            for row in labels:
                row[torch.randperm(drawn.length, generator=random)[: drawn.length // 16]] = -100
        positions = torch.arange(drawn.length).expand(drawn.batch, -1).clone()
        for row, documents in enumerate(self.documents.expand(drawn.batch, -1)):
            labels[row, :-1][documents[1:] != documents[:-1]] = -100
            positions[row] -= torch.searchsorted(documents, documents)  # the first token of each document
        labels[0, 0] = tokens[0, 1]  # every batch has a target
        return {"input_ids": tokens[:, :-1].clone(), "labels": labels, "position_ids": positions}

    @contextlib.contextmanager
    def sharded(self, buffers):
        """Gives this rank's part of the batch."""
        if self.pytorch:
            with context_parallel(self.cp, buffers=list(buffers.values()), buffer_seq_dims=[1] * len(buffers)):
                yield buffers
        elif self.drawn.attention == "flex_plan":
            import flex_plan

            parts = flex_plan.cut(self.cp, list(buffers.values()), self.drawn.length, self.drawn.balanced)
            yield dict(zip(buffers, parts))
        else:
            own = tokens_of(self.drawn.layout, self.cp.get_local_rank(), self.cp.size(), self.drawn.length)
            yield {name: whole[:, own].contiguous() for name, whole in buffers.items()}

    def targets(self, batch):
        """Returns the labels of this rank's tokens."""
        return batch["labels"]

    def forward(self, batch):
        """Returns the sum of the losses of this rank's targets."""
        drawn, labels = self.drawn, self.targets(batch).flatten()
        ids, positions = batch["input_ids"], batch["position_ids"]
        kind = AUTOCAST.get(drawn.precision)
        with torch.autocast("cpu", kind, enabled=kind is not None):
            if drawn.loss == "fused" and drawn.sync not in ("ddp", "fsdp") and drawn.logit_cap is None:
                hidden = self.plain.hidden(ids, positions)
                weight = getattr(self.plain, self.plain.names[3]).weight
                return FusedLoss.apply(hidden.flatten(0, 1).type_as(weight), weight, labels)
            logits = self.model(ids, positions).flatten(0, 1)
            if drawn.precision == "autocast":
                return sum_of_losses(drawn.loss, logits, labels)
        narrow = drawn.precision == "bfloat16" and drawn.seed % 2
        return sum_of_losses(drawn.loss, logits if narrow else logits.float(), labels)

    def sync(self):
        drawn = self.drawn
        gradients = [p.grad for p in self.plain.parameters() if p.grad is not None]
        if drawn.sync == "flat":
            flat = torch.cat([g.flatten() for g in gradients])
            dist.all_reduce(flat)
            for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients])):
                gradient.copy_(part.view_as(gradient))
        elif drawn.sync in ("sum", "mean", "two_stages"):
            for gradient in gradients:
                if drawn.sync == "two_stages":
                    dist.all_reduce(gradient, group=self.mesh["cp"].get_group())
                    dist.all_reduce(gradient, group=self.mesh["dp"].get_group())
                else:
                    dist.all_reduce(gradient)
                    if drawn.sync == "mean":
                        gradient /= drawn.world

    def step(self, step):
        drawn = self.drawn
        batches = [self.make_batch(step * drawn.microbatches + m) for m in range(drawn.microbatches)]
        count = sum((batch["labels"] != -100).sum() for batch in batches)
        dist.all_reduce(count, group=self.mesh["dp"].get_group())
        averages = drawn.sync in ("mean", "ddp", "fsdp")
        total = torch.zeros(())
        for number, batch in enumerate(batches):
            last = number + 1 == len(batches)
            held = self.model.no_sync() if drawn.sync == "ddp" and not last else contextlib.nullcontext()
            if drawn.sync == "fsdp":
                self.model.set_requires_gradient_sync(last)
            with held, self.sharded(batch) as own:
                loss = self.forward(own) / count * (drawn.world if averages else 1)
                self.scaler.scale(loss).backward()
            total += loss.detach().float()
        self.sync()
        self.scaler.unscale_(self.optimizer)
        if drawn.clip:
            torch.nn.utils.clip_grad_norm_([p for p in self.plain.parameters() if p.requires_grad], 0.5)
        for gradient in (p.grad for p in self.plain.parameters() if p.grad is not None):
            own = gradient.to_local() if hasattr(gradient, "to_local") else gradient
            assert own.isfinite().all() or drawn.precision == "float16_scaler"
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        dist.all_reduce(total)
        assert total.isfinite(), total

    def evaluate(self):
        self.model.eval()
        with torch.no_grad(), self.sharded(self.make_batch(500)) as own:
            dist.all_reduce(self.forward(own))
        self.model.train()

    def run(self):
        for step in range(self.drawn.steps):
            self.step(step)
            if self.drawn.evaluation:
                self.evaluate()


class ShiftedPerShard(DrawnJob):
    """Labels of a rank's own tokens are shifted after the batch was cut."""

    def make_batch(self, number):
        batch = super().make_batch(number)
        return {**batch, "labels": F.pad(batch["labels"][:, :-1], (1, 0), value=-100)}

    def targets(self, batch):
        return F.pad(batch["labels"][:, 1:], (0, 1), value=-100)


class ShiftedTwice(DrawnJob):
    """Labels that were shifted are shifted again by the loss."""

    def targets(self, batch):
        return F.pad(batch["labels"][:, 1:], (0, 1), value=-100)


JOBS = {"right": (DrawnJob, draw), "labels": (DrawnJob, draw_labels),
        "shift_labels_per_shard": (ShiftedPerShard, draw_labels), "labels_shifted_twice": (ShiftedTwice, draw_labels)}


def run(rank, world, folder, kind, seed, cases):
    """Runs cases as one of the processes."""
    made, drawn_by = JOBS[kind]
    torch.set_num_threads(1)
    ringscope.cpu_context_parallel()
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    for case in cases:
        drawn = drawn_by(seed, case)
        steps = range(1 if kind == "right" else drawn.steps)
        with ringscope.record(os.path.join(folder, f"{case}"), steps=steps):
            mesh = init_device_mesh("cpu", (drawn.dp, drawn.world // drawn.dp), mesh_dim_names=("dp", "cp"))
            made(drawn, mesh).run()
        dist.barrier()
    dist.destroy_process_group()


def fork(rank, world, *arguments):
    """Returns the id of a new process, which runs the cases and ends."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(world))
        run(rank, world, *arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main():
    world, folder, kind, seed = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    started = {fork(rank, world, folder, kind, seed, list(map(int, sys.argv[5:]))) for rank in range(world)}
    while started:
        child, status = os.wait()
        started.discard(child)
        if status != 0:
            for other in started:
                os.kill(other, signal.SIGKILL)
            sys.exit(1)


if __name__ == "__main__":
    main()
