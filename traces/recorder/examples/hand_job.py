# SPDX-License-Identifier: Apache-2.0
"""A job that cuts its own batch, for hand-written attention over shards."""

import torch
import torch.distributed as dist
import torch.nn.functional as F

import ringscope
from tiny_llama import VOCABULARY, finish, folder, join, make_batch, make_model, sum_gradients

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def cut(batch, tokens, cp):
    """Returns this rank's tokens of each buffer."""
    own = {}
    for name, whole in batch.items():
        part = whole[:, tokens].contiguous()
        own[name] = ringscope.buffer(part, name, tokens=tokens, group=cp, whole=whole)
    return own


def train(model, optimizer, tokens_of, cp, replica, replicas, steps, length):
    losses = []
    for step in range(steps):
        input_ids, labels = make_batch(step + 100 * replica, length)
        position_ids = torch.arange(input_ids.shape[1])[None]
        targets = (labels != -100).sum() * replicas
        batch = {"input_ids": input_ids, "labels": labels, "position_ids": position_ids}
        tokens = tokens_of(dist.get_rank(cp), dist.get_world_size(cp), input_ids.shape[1])
        own = cut(batch, tokens, cp)
        logits = model(own["input_ids"], own["position_ids"])
        loss = F.cross_entropy(
            logits.view(-1, VOCABULARY), own["labels"].view(-1), reduction="sum"
        )
        loss = loss / targets
        loss.backward()
        logged = loss.detach().clone()
        dist.all_reduce(logged)
        ringscope.log(loss=logged)
        losses.append(logged.item())
        sum_gradients(model, dist.group.WORLD)
        optimizer.step()
        optimizer.zero_grad()
    return losses


def run(attention, dp=1, group_of=None, steps=2, length=64, meant=MEANT):
    """Runs the job. The class `attention` is made with a process group and called with q, k, v; its method tokens()
    returns a rank's tokens. The group is that of cp, or the one that `group_of` selects from the mesh. Declares the
    intent `meant`."""
    mesh = join(dp)
    cp = mesh["cp"].get_group()
    attend = attention(group_of(mesh) if group_of else cp)
    model, optimizer = make_model(attend)
    replica = mesh["dp"].get_local_rank()
    with ringscope.record(folder(), model=model, steps=range(steps), declare=meant):
        losses = train(model, optimizer, attend.tokens, cp, replica, dp, steps, length)
    finish(model, losses)
