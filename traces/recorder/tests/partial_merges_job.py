# SPDX-License-Identifier: Apache-2.0
"""Functions that gather pairs of tensors with the shapes of outputs and log-sum-exps, for test_observed_parts. Fails
if the recorder's profiler stays too long. The argument names the function."""

import sys

import torch
import torch.distributed as dist


def attend(q, keys, values):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, keys) * q.shape[-1] ** -0.5
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), values), scores.logsumexp(-1)


def gathered(*tensors):
    parts = [[torch.empty_like(x) for _ in range(dist.get_world_size())] for x in tensors]
    return parts, [x.contiguous() for x in tensors]


def weights(lses):
    return (lses - lses.logsumexp(0)).exp().transpose(2, 3)[..., None]


def right(q, k, v, keys, values):
    (outs, lses), (out, lse) = gathered(*attend(q, keys, values))
    dist.all_gather(outs, out)
    dist.all_gather(lses, lse)
    return (torch.stack(outs) * weights(torch.stack(lses))).sum(0)


def mean(q, k, v, keys, values):
    (outs, lses), (out, lse) = gathered(*attend(q, keys, values))
    dist.all_gather(outs, out)
    dist.all_gather(lses, lse)
    return torch.stack(outs).mean(0)


def weighted_first(q, k, v, keys, values):
    (outs, lses), (out, lse) = gathered(*attend(q, keys, values))
    dist.all_gather(lses, lse)
    dist.all_gather(outs, out * weights(torch.stack(lses))[dist.get_rank()])
    return torch.stack(outs).sum(0)


def scaled_by_maximum(q, k, v, keys, values):
    """The rank with the largest log-sum-exps sends its output unchanged."""
    (outs, lses), (out, lse) = gathered(*attend(q, keys, values))
    dist.all_gather(lses, lse)
    factors = (torch.stack(lses) - torch.stack(lses).amax(0)).exp().transpose(2, 3)[..., None]
    dist.all_gather(outs, out * factors[dist.get_rank()])
    return torch.stack(outs).sum(0)


def entropies(q, k, v, keys, values):
    out, lse = attend(q, keys, values)
    (outs, others), _ = gathered(out, lse)
    dist.all_gather(outs, out)
    dist.all_gather(others, lse.exp())
    return torch.stack(outs).mean(0)


def gathers_again(q, k, v, keys, values):
    """A third gather ends the wait for the end of this function."""
    result = mean(q, k, v, keys, values)
    (outs, lses), (out, lse) = gathered(*attend(q, keys, values))
    dist.all_gather(outs, out)
    dist.all_gather(lses, lse)
    assert sys.getprofile() is not None
    dist.all_gather(lses, lse)
    assert sys.getprofile() is None
    return result


def long_function(q, k, v, keys, values):
    (outs, lses), (out, lse) = gathered(*attend(q, keys, values))
    dist.all_gather(outs, out)
    dist.all_gather(lses, lse)
    assert sys.getprofile() is not None
    for _ in range(3000):
        abs(1)
    assert sys.getprofile() is None
    return torch.stack(outs).mean(0)


def ends_step(q, k, v, keys, values):
    (outs, lses), (out, lse) = gathered(*attend(q, keys, values))
    dist.all_gather(outs, out)
    dist.all_gather(lses, lse)
    model.weight.grad = torch.ones_like(model.weight)
    optimizer.step()
    assert sys.getprofile() is None
    return torch.stack(outs).mean(0)


dist.init_process_group("gloo")
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
own, shared = torch.Generator().manual_seed(1 + dist.get_rank()), torch.Generator().manual_seed(9)
with torch.no_grad():
    model(torch.ones(2))
    for _ in range(2):
        cache = [torch.randn(1, 8 * (2 + dist.get_rank()), 2, 8, generator=own) for _ in range(2)]
        globals()[sys.argv[1]](*(torch.randn(1, 1, 2, 8, generator=shared) for _ in range(3)), *cache)
        assert sys.getprofile() is None
dist.barrier()
dist.destroy_process_group()
