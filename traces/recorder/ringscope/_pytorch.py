# SPDX-License-Identifier: Apache-2.0
"""The place and the interface of PyTorch's context parallelism. Both changed between versions 2.6 and 2.15."""

import importlib

import torch

_HOMES = (
    "torch.distributed.tensor.experimental._context_parallel._attention",
    "torch.distributed.tensor.experimental._attention",
)


# The attributes that the recorder wraps; all of them are private.
_PARTS = (
    "_templated_ring_attention",
    "_templated_ring_attention_backward",
    "_create_rotater",
    "_context_parallel_buffers",
    "_cp_options",
)


def context_parallel_module():
    """Returns the module with PyTorch's ring, or None if this PyTorch has none or an unknown one."""
    for name in _HOMES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if all(hasattr(module, part) for part in _PARTS):
            return module
    return None


def load_balance(args, kwargs):
    """Returns the load balancing of _context_parallel_buffers(), from its arguments after the buffers' dimensions. The
    first value is the load balancer's name; "" means none. The second is its order of the tokens, [1 or batch, tokens],
    or None."""
    ring = context_parallel_module()
    balancer = next((a for a in (*args, *kwargs.values()) if a is not None), None)
    if balancer is None:  # before 2.9, an option enables it
        option = not hasattr(ring, "custom_ops") and ring._cp_options.enable_load_balance
        return ("HeadTailLoadBalancer" if option else ""), None
    if isinstance(balancer, torch.Tensor):  # 2.9 passes only the order, which is always head-tail
        return "HeadTailLoadBalancer", balancer.reshape(1, -1)
    return type(balancer).__name__.strip("_"), balancer._generate_indices()


def local_of(tensor):
    """Returns the local part of a DTensor, or a plain tensor itself."""
    return getattr(tensor, "_local_tensor", tensor)
