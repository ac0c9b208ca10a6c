# SPDX-License-Identifier: Apache-2.0
"""A training job under PyTorch's context_parallel as strangers write it: nothing in it declares, annotates or logs
anything for the recorder. The cases in right.py and wrong.py change single parts of it.

    RINGSCOPE_RECORD=FOLDER torchrun --nproc-per-node 2 -m ringscope job.py CASE
"""

import math
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel

import ringscope

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 96, 32, 4, 2, 64
SPEED = 10000 ** (-torch.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS))


def angles(positions):
    """Returns the rotations of positions [..., S] as complex numbers [..., S, D / 2]."""
    turns = positions[..., None].float() * SPEED
    return torch.polar(torch.ones_like(turns), turns)


def rotate(x, rotations):
    """Rotates x [B, H, S, D] by rotations [S, D / 2]."""
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotations).flatten(-2).type_as(x)


class Block(nn.Module):
    scale = None

    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)

    def forward(self, x, rotations):
        q, k, v = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, -1)
        )
        if rotations is not None:
            q, k = rotate(q, rotations), rotate(k, rotations)
        out = self.attend(q, k, v)
        x = x + self.c_proj(out.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """A decoder whose rotary embedding has no module and whose positions have no name."""

    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def hidden(self, idx, rotations):
        x = self.wte(idx)
        for block in self.h:
            x = block(x, rotations)
        return self.ln_f(x)

    def forward(self, idx, rotations=None):
        return self.lm_head(self.hidden(idx, angles(torch.arange(idx.shape[1])) if rotations is None else rotations))


class Job:
    """A right job. Cases replace its methods. The gradients of all ranks are summed, so a rank's loss is the sum over
    its own targets, divided by the number of all targets."""

    dp, prompt, steps, microbatches = 1, 0, 2, 1
    ranks = None  # of the whole job; two for each replica by default
    finding = None  # the doctor's first finding of a wrong job: a name, or several that are right
    fails = False  # whether the job ends with an error

    def __init__(self):
        ringscope.cpu_context_parallel()
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        self.world = dist.get_world_size()
        self.mesh = init_device_mesh("cpu", (self.dp, self.world // self.dp), mesh_dim_names=("dp", "cp"))
        self.cp = self.mesh["cp"]
        self.replica = self.mesh["dp"].get_local_rank()

    def make_model(self):
        torch.manual_seed(0)
        return GPT()

    def make_optimizer(self):
        return torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def sequence(self, step):
        seed = 100 * step + self.replica
        return torch.randint(VOCABULARY, (1, LENGTH + 1), generator=torch.Generator().manual_seed(seed))

    def batch(self, step):
        """Returns the buffers of a step by name: tokens along dimension 1, rotations along 0."""
        tokens = self.sequence(step)
        labels = tokens[:, 1:].clone()
        labels[:, : self.prompt] = -100
        return {"ids": tokens[:, :-1].clone(), "labels": labels, "rotations": angles(torch.arange(LENGTH))}

    def cut(self, buffers):
        """Returns the names of the buffers that are cut."""
        return list(buffers)

    def dimension(self, name):
        return 0 if name == "rotations" else 1

    def count(self, buffers):
        """Counts the targets of all ranks, before the batch is cut."""
        count = (buffers["labels"] != -100).sum()
        dist.all_reduce(count, group=self.mesh["dp"].get_group())
        return count

    def logits(self, buffers):
        return self.model(buffers["ids"], buffers["rotations"])

    def loss(self, logits, labels, count):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / count

    def forward(self, buffers, count):
        return self.loss(self.logits(buffers), buffers["labels"], count)

    def sharded(self, buffers):
        names = self.cut(buffers)
        dimensions = [self.dimension(name) for name in names]
        return context_parallel(self.cp, buffers=[buffers[n] for n in names], buffer_seq_dims=dimensions)

    def train_on(self, buffers, count):
        with self.sharded(buffers):
            loss = self.forward(buffers, count)
            loss.backward()
        return loss

    def sync(self):
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)

    def report(self, loss):
        total = loss.detach().clone()
        dist.all_reduce(total)
        if not math.isfinite(total.item()):
            raise SystemExit("the loss is not finite")

    def step(self, step):
        for microbatch in range(self.microbatches):
            buffers = self.batch(step * self.microbatches + microbatch)
            loss = self.train_on(buffers, self.count(buffers) * self.microbatches)
        self.update(loss)

    def update(self, loss):
        self.sync()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.report(loss)

    def run(self):
        self.model = self.make_model()
        self.optimizer = self.make_optimizer()
        for step in range(self.steps):
            self.step(step)
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    import borders
    import exchanged
    import inline
    import latents
    import masked_heads
    import own_documents
    import policies
    import right
    import right_batches
    import right_losses
    import stated
    import wrong
    import wrong_losses

    modules = (right, inline, exchanged, right_batches, right_losses)
    modules += (policies, stated, latents, masked_heads, borders, own_documents, wrong, wrong_losses)
    next(getattr(module, sys.argv[1]) for module in modules if hasattr(module, sys.argv[1]))().run()
