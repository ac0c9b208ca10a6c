# SPDX-License-Identifier: Apache-2.0
"""PyTorch's context_parallel on CPU tensors.

PyTorch's ring supports the flash, efficient and cuDNN operators of CUDA. This module also registers its template for
the CPU's flash operator and the backward, so that a job can be tried without a GPU. It changes nothing else in
PyTorch's ring.
"""

import inspect

import torch

from ._pytorch import context_parallel_module, local_of

_SEQ_DIM = 2  # of [B, H, S, D]
_HANDLERS = ("custom_ops", "customized_ops")  # the ring's handlers of operators; the second name is used before 2.10


def _operators():
    aten = torch.ops.aten
    return (
        aten._scaled_dot_product_flash_attention_for_cpu.default,
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
    )


def _group_argument(ring, template):
    """Returns how to make the template's first argument: a process group or, in older versions, the mesh."""
    first = next(iter(inspect.signature(template).parameters))
    return (lambda mesh: mesh) if first == "mesh" else (lambda mesh: mesh.get_group())


def _wrap(local, like):
    """Wraps a rank's part as a DTensor that is cut along the sequence, like `like`."""
    from torch.distributed.tensor import DTensor, Shard
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

    mesh = like.device_mesh
    shape = list(local.shape)
    shape[_SEQ_DIM] *= mesh.size()
    whole = torch.empty(shape, dtype=local.dtype, device="meta")
    meta = TensorMeta(whole.shape, whole.stride(), local.dtype)
    return DTensor._op_dispatcher.wrap(local, DTensorSpec(mesh, (Shard(_SEQ_DIM),), meta))


def _no_mask(kwargs):
    if kwargs.get("attn_mask") is not None:
        raise NotImplementedError("PyTorch's context_parallel takes no attn_mask")


def _forward(op_call, args, kwargs):
    ring = context_parallel_module()
    query, key, value, *rest = args
    _no_mask(kwargs)
    template = ring._templated_ring_attention
    out, lse = template(
        _group_argument(ring, _forward_template)(query.device_mesh),
        _SEQ_DIM,
        op_call,
        query=local_of(query),
        key=local_of(key),
        value=local_of(value),
        dropout_p=rest[0] if rest else kwargs.get("dropout_p", 0.0),
        is_causal=rest[1] if len(rest) > 1 else kwargs.get("is_causal", False),
        scale=kwargs.get("scale"),
    )
    return _wrap(out, query), _wrap(lse, query)


def _backward(op_call, args, kwargs):
    ring = context_parallel_module()
    grad_out, query, key, value, out, lse, dropout_p, is_causal = args
    _no_mask(kwargs)
    grads = ring._templated_ring_attention_backward(
        _group_argument(ring, _backward_template)(query.device_mesh),
        _SEQ_DIM,
        op_call,
        grad_out=local_of(grad_out),
        grad_out_name="grad_out",
        query=local_of(query),
        key=local_of(key),
        value=local_of(value),
        out=local_of(out),
        logsumexp=local_of(lse),
        is_causal=is_causal,
        dropout_p=dropout_p,
        scale=kwargs.get("scale"),
    )
    return tuple(_wrap(grad.contiguous(), query) for grad in grads[:3])


_forward_template = None
_backward_template = None


def cpu_context_parallel():
    """Makes torch.distributed.tensor.experimental.context_parallel accept CPU tensors.

    Call it once, before context_parallel. Later calls change nothing. Raises RuntimeError if this PyTorch has no ring.
    """
    global _forward_template, _backward_template
    ring = context_parallel_module()
    handlers = next((getattr(ring, name) for name in _HANDLERS if hasattr(ring, name)), None)
    if handlers is None:
        raise RuntimeError("this PyTorch has no context_parallel; 2.6 or newer has")
    forward, backward = _operators()
    if forward in handlers:
        return
    # Stored now, because a recorder may wrap the templates later.
    _forward_template = ring._templated_ring_attention
    _backward_template = ring._templated_ring_attention_backward
    handlers[forward] = _forward
    handlers[backward] = _backward
