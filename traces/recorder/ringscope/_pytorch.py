# SPDX-License-Identifier: Apache-2.0
"""Where PyTorch keeps its context parallelism, and how it is asked; both changed between 2.6 and 2.15."""

import importlib

import torch

_HOMES = (
    "torch.distributed.tensor.experimental._context_parallel._attention",
    "torch.distributed.tensor.experimental._attention",
)


# What the recorder stands before, all private.
_PARTS = (
    "_templated_ring_attention",
    "_templated_ring_attention_backward",
    "_create_rotater",
    "_context_parallel_buffers",
    "_cp_options",
)


def context_parallel_module():
    """The module that holds PyTorch's ring, or None where this PyTorch has none, or another one."""
    for name in _HOMES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if all(hasattr(module, part) for part in _PARTS):
            return module
    return None


def load_balance(args, kwargs):
    """By what _context_parallel_buffers() deals tokens, of what it gets after the buffers' dimensions: the load
    balancer's name ("": none), and its order of a sequence's tokens, [1 or batch, tokens], where it has one."""
    ring = context_parallel_module()
    balancer = next((a for a in (*args, *kwargs.values()) if a is not None), None)
    if balancer is None:  # before 2.9 an option says it
        option = not hasattr(ring, "custom_ops") and ring._cp_options.enable_load_balance
        return ("HeadTailLoadBalancer" if option else ""), None
    if isinstance(balancer, torch.Tensor):  # 2.9 gives the order alone, which is always that one
        return "HeadTailLoadBalancer", balancer.reshape(1, -1)
    return type(balancer).__name__.strip("_"), balancer._generate_indices()


def local_of(tensor):
    """The part of a DTensor that lies on this rank; a plain tensor itself."""
    return getattr(tensor, "_local_tensor", tensor)
