# SPDX-License-Identifier: Apache-2.0
"""A job whose model FSDP2 or DDP wraps, over a mesh of dp × cp, for the jobs beside this file."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.parallel import DistributedDataParallel

import ringscope
from tiny_llama import VOCABULARY, TinyLlama, finish, folder, join, make_batch

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def shard(model, mesh):
    """Applies FSDP2: each rank of the mesh keeps a part of every parameter."""
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def replicate(model, mesh):
    """Applies DDP: each rank of the mesh keeps the whole model."""
    return DistributedDataParallel(model, process_group=mesh.get_group())


def train(mesh, model, optimizer, factor):
    losses = []
    replica, replicas = mesh["dp"].get_local_rank(), mesh["dp"].size()
    for step in range(2):
        input_ids, labels = make_batch(step + 100 * replica)
        position_ids = torch.arange(input_ids.shape[1])[None]
        targets = (labels != -100).sum() * replicas
        buffers = [input_ids, labels, position_ids]
        with context_parallel(mesh["cp"], buffers=buffers, buffer_seq_dims=[1, 1, 1]):
            logits = model(input_ids, position_ids)
            loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1), reduction="sum")
            loss = loss / targets
            (loss * factor).backward()
        logged = loss.detach().clone()
        dist.all_reduce(logged)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
        ringscope.log(loss=logged, grad_norm=getattr(norm, "full_tensor", lambda: norm)())
        losses.append(logged.item())
        optimizer.step()
        optimizer.zero_grad()
    return losses


def run(wrap, dp=1, over=("dp", "cp"), factor=None, values="auto"):
    """Runs the job. `wrap` averages gradients over the ranks of the axes `over`. Before backward, the loss is
    multiplied by `factor`. If that is None, it is the number of these ranks, so that gradients are summed over all
    ranks."""
    ringscope.cpu_context_parallel()
    mesh = join(dp)
    torch.manual_seed(0)
    part = mesh["dp", "cp"]._flatten("dp_cp") if over == ("dp", "cp") else mesh[over[0]]
    model = wrap(TinyLlama(), part)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    factor = part.size() if factor is None else factor
    with ringscope.record(folder(), model=model, steps=range(2), values=values, declare=MEANT):
        losses = train(mesh, model, optimizer, factor)
    finish(model, losses)
