# SPDX-License-Identifier: Apache-2.0
"""A Llama with a few thousand weights, and functions that the jobs beside this file share."""

import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, KV_HEADS, LAYERS = 64, 32, 4, 4, 2


class Rotary(nn.Module):
    def forward(self, position_ids):
        """Computes cos and sin, [B, S, D], of position_ids, [B, S]."""
        width = WIDTH // HEADS
        speed = 10000 ** (-torch.arange(0, width, 2) / width)
        angles = position_ids[..., None].float() * speed
        angles = torch.cat([angles, angles], dim=-1)
        return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    """Rotates x, [B, H, S, D]."""
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos[:, None] + turned * sin[:, None]


def whole_attention(q, k, v):
    """Attends q, k, v and returns out, all [B, H, S, D]."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Layer(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention = attention
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        batch, tokens, _ = x.shape
        q, k, v = (
            part.view(batch, tokens, HEADS, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        out = self.attention(rotate(q, cos, sin), rotate(k, cos, sin), v)
        x = x + self.out(out.transpose(1, 2).reshape(batch, tokens, WIDTH))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class TinyLlama(nn.Module):
    def __init__(self, attention=whole_attention):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.rotary = Rotary()
        self.layers = nn.ModuleList(Layer(attention) for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, input_ids, position_ids=None):
        """Computes logits, [B, S, VOCABULARY], of input_ids, [B, S]."""
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1])[None]
        cos, sin = self.rotary(position_ids)
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.lm_head(self.norm(x))


def make_batch(step, tokens=64, ignored=0):
    """Returns token ids and labels, [1, tokens], of one sequence. The first `ignored` tokens have no target."""
    random = torch.Generator().manual_seed(1000 + step)
    sequence = torch.randint(0, VOCABULARY, (1, tokens + 1), generator=random)
    labels = sequence[:, 1:].clone()
    labels[:, :ignored] = -100
    return sequence[:, :-1].clone(), labels


def join(dp=1):
    """Joins the job's processes and returns their mesh of dp × cp."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    cp = dist.get_world_size() // dp
    return init_device_mesh("cpu", (dp, cp), mesh_dim_names=("dp", "cp"))


def make_model(attention=whole_attention):
    """Returns a model that is the same on all ranks, and its optimizer."""
    torch.manual_seed(0)
    model = TinyLlama(attention)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def begin():
    """Begins a job for context_parallel. Returns the cp mesh, the model and its optimizer."""
    import ringscope

    ringscope.cpu_context_parallel()
    return (join()["cp"], *make_model())


def sum_gradients(model, group):
    import torch.distributed as dist

    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=group)


def folder():
    """Returns the folder of the recording: the first argument, or "run1"."""
    return sys.argv[1] if len(sys.argv) > 1 else "run1"


def finish(model, losses):
    """Ends the job. If RESULT is set, saves its results for a comparison with another run."""
    import torch.distributed as dist

    if os.environ.get("RESULT"):
        state = {"losses": losses, "random": torch.get_rng_state()}
        state.update({name: p.detach() for name, p in model.named_parameters()})
        torch.save(state, f"{os.environ['RESULT']}.{dist.get_rank()}")
    dist.barrier()  # PyTorch 2.6 hangs if Gloo ends while its thread frees a tensor
    dist.destroy_process_group()
