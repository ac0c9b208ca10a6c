# SPDX-License-Identifier: Apache-2.0
"""Transformers' Mixtral, a mixture of experts with a load-balancing loss, without mistakes. The losses of all ranks
have the weight of the configuration together.

    torchrun --nproc-per-node 2 mixtral.py [FOLDER]
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
import transformers
from torch.distributed.tensor.experimental import context_parallel

import ringscope
from tiny_llama import VOCABULARY, finish, folder, make_batch, sum_gradients
from tiny_transformers import SIZES, begin

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}
WEIGHT = 0.02


def make_mixtral():
    torch.manual_seed(0)
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "router_aux_loss_coef": WEIGHT}
    config = transformers.MixtralConfig(**SIZES, **experts, head_dim=8, output_router_logits=True)
    return transformers.MixtralForCausalLM(config)


def train(mesh, model, optimizer, parts):
    losses = []
    for step in range(2):
        input_ids, labels = make_batch(step)
        position_ids = torch.arange(input_ids.shape[1])[None]
        targets = (labels != -100).sum()
        with context_parallel(mesh, buffers=[input_ids, labels, position_ids], buffer_seq_dims=[1, 1, 1]):
            output = model(input_ids, attention_mask=torch.ones_like(input_ids), position_ids=position_ids)
            loss = F.cross_entropy(output.logits.view(-1, VOCABULARY), labels.view(-1), reduction="sum") / targets
            (loss + WEIGHT * output.aux_loss / parts).backward()
        logged = loss.detach().clone()
        dist.all_reduce(logged, group=mesh.get_group())
        ringscope.log(loss=logged)
        losses.append(logged.item())
        sum_gradients(model, mesh.get_group())
        optimizer.step()
        optimizer.zero_grad()
    return losses


def main(count_ranks=dist.get_world_size):
    mesh, model, optimizer = begin(make_mixtral())
    with ringscope.record(folder(), model=model, steps=range(2), declare=MEANT):
        losses = train(mesh, model, optimizer, count_ranks())
    finish(model, losses)


if __name__ == "__main__":
    main()
