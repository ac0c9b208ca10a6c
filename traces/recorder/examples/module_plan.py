# SPDX-License-Identifier: Apache-2.0
"""PyTorch's newer interface of context parallelism. Attention is a module with a plan, and the batch is cut once by a
load balancer that the job selects.

    torchrun --nproc-per-node 2 module_plan.py [FOLDER]
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor.experimental import _attention as context_parallel
from torch.distributed.tensor.experimental._context_parallel import _load_balancer as balancers
from torch.distributed.tensor.parallel import parallelize_module

import ringscope
from tiny_llama import VOCABULARY, finish, folder, join, make_batch, make_model, sum_gradients

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


class Attention(nn.Module):
    def forward(self, query, key, value):
        """Attends tensors [B, H, S, D] that are cut along S."""
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def begin():
    """Returns the cp mesh, the model and its optimizer."""
    ringscope.cpu_context_parallel()
    mesh = join()["cp"]
    attention = Attention()
    kind = context_parallel._ContextParallel
    plan = kind(seq_dim=2, attention_type=kind.AttentionType.SDPA)
    parallelize_module(attention, mesh, plan)
    context_parallel._enable_context_parallel_dispatcher()
    return (mesh, *make_model(attention))


def cut(mesh, buffers):
    """Returns this rank's parts of buffers [1, tokens]."""
    balancer = balancers._HeadTailLoadBalancer(buffers[0].shape[1], mesh.size(), "cpu")
    return context_parallel._context_parallel_shard(mesh, buffers, [1] * len(buffers), balancer)


def train(mesh, model, optimizer, tokens=64):
    losses = []
    for step in range(2):
        input_ids, labels = make_batch(step, tokens)
        position_ids = torch.arange(input_ids.shape[1])[None]
        targets = (labels != -100).sum()
        input_ids, labels, position_ids = cut(mesh, [input_ids, labels, position_ids])
        logits = model(input_ids, position_ids)
        loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.reshape(-1), reduction="sum") / targets
        loss.backward()
        logged = loss.detach().clone()
        dist.all_reduce(logged, group=mesh.get_group())
        ringscope.log(loss=logged)
        losses.append(logged.item())
        sum_gradients(model, mesh.get_group())
        optimizer.step()
        optimizer.zero_grad()
    return losses


def main():
    mesh, model, optimizer = begin()
    with ringscope.record(folder(), model=model, steps=range(2), declare=MEANT):
        losses = train(mesh, model, optimizer)
    finish(model, losses)


if __name__ == "__main__":
    main()
