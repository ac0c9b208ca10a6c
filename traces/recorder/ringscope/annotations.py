# SPDX-License-Identifier: Apache-2.0
"""Annotations with which a job describes what the recorder cannot observe, one line each.

Annotations change nothing and raise no error. Values that do not fit are written into the recording and reported when
it is opened.
"""

import functools

import ringscope

from ._harmless import check_values, harmless
from ._names import annotate
from ._shapes import check_layout

_RESULTS = ("out", "lse", "dq", "dk", "dv")


def _observers():
    return ringscope._current


@functools.partial(harmless, passes_on="tensor")
def buffer(tensor, name, *, tokens=None, seq_dim=1, length=None, group=None, whole=None):
    """Names a buffer and, in a job that cuts its own batch, says which tokens it contains.

    tensor: This rank's part, as the model or the loss gets it, or a view of it. If context_parallel cuts the buffer,
        pass the whole buffer before the cut; then only its name is needed.
    name: "input_ids", "labels" or "position_ids" for these buffers.
    tokens: The indices within the whole sequence, in the order of the tensor's dimension seq_dim: a range, a list or a
        1-D tensor.
    length: The number of tokens of the whole sequence. By default all ranks of `group` have the same number of tokens.
    group: The process group whose ranks share the sequence; None: all ranks.
    whole: The batch before the cut, if it exists.

    Returns the tensor. Call it in every training step. The tokens must be integers from 0, as many as the tensor has
    along seq_dim.
    """
    check_values(tensor=tensor, tokens=tokens, seq_dim=seq_dim, length=length, whole=whole, group=group)
    annotate(tensor, name)
    if tokens is None:
        return tensor
    tokens = [int(token) for token in tokens]
    if not -tensor.dim() <= seq_dim < tensor.dim():
        raise ValueError(f"seq_dim={seq_dim} is no dimension of a tensor of {tensor.dim()}")
    if len(tokens) != tensor.shape[seq_dim]:
        have = tensor.shape[seq_dim]
        raise ValueError(f"{len(tokens)} tokens were given for the {have} of {name} that are here")
    if min(tokens, default=0) < 0:
        raise ValueError(f"token {min(tokens)} of {name} is before the sequence begins")
    if _observers() is not None:
        seq_dim %= tensor.dim()
        _observers().buffers.annotated(tensor, name, tokens, seq_dim, length, group, whole)
    return tensor


@functools.partial(harmless, passes_on="loss")
def auxiliary_loss(loss, weight, *, part=False):
    """Names a loss that is added to the cross entropy, such as the load-balancing loss of a router. The recorder notes
    what it counts in the gradient.

    loss: This rank's loss, a tensor of one element, before it is multiplied by its weight.
    weight: The factor that the loss has in the loss of the whole training step, as the job is configured.
    part: Whether the losses of all ranks are parts of one, which is their sum. By default they have one weight
        together: each is the mean over its rank's tokens, or the same loss of all tokens.

    Returns the loss. A model of Transformers whose output has `aux_loss` needs no call.
    """
    check_values(loss=loss, weight=weight)
    if loss.numel() != 1:
        raise ValueError(f"a loss has one element, and not {loss.numel()}")
    if _observers() is not None:
        _observers().auxiliary.takes(loss, float(weight), bool(part))
    return loss


@harmless
def attention(
    q=None,
    k=None,
    v=None,
    *,
    dout=None,
    out=None,
    lse=None,
    dq=None,
    dk=None,
    dv=None,
    group=None,
    causal=None,
    scale=None,
    layout="bhsd",
    layer=None,
):
    """Marks the beginning (with inputs) or the end (with results) of an attention over shards.

    Forward:   `attention(q, k, v, group=group, causal=True)  …  attention(out=out, lse=lse)`
    Backward:  `attention(q, k, v, dout=dout, group=group)    …  attention(dq=dq, dk=dk, dv=dv)`

    Messages that a rank sends and receives through torch.distributed between the two calls are the attention's hops.
    Describe attended blocks by block(). Attention that exchanges heads by all-to-all (DeepSpeed-Ulysses) needs no
    block(), because the recorder sees PyTorch's operator. If autograd runs its backward, the recorder recognizes it
    by the gradients of q, k, v and out.

    q, k, v, out: This rank's shard, as are the gradients: [B, H, S, D]. With layout="bshd" they are [B, S, H, D], and
        with "sbhd" [S, B, H, D]. k and v may have fewer heads than q. A packed [T, H, D] is not supported; give it a batch dimension of 1.
    lse: The natural logarithm of the sum of exp of out's scores, [B, H, S]. [B, S, H] and a last dimension of 1 are
        also accepted. None if it is not available.
    group: The process group of the attention; None: all ranks.
    causal: Whether the whole attention is causal. Required at the beginning of a forward.
    scale: The scale of the scores; None: 1 / sqrt(D).
    layer: The layer, counted from 0; by default the decoder layer that is running. Backward gets the layer of the
        forward with the same q.

    In backward, a message carries keys and values if its memory or contents are those of k or v of the call or of one
    of its blocks. Otherwise it carries dK and dV.

    """
    check_values(q=q, k=k, v=v, dout=dout, out=out, lse=lse, dq=dq, dk=dk, dv=dv)
    check_values(group=group, causal=causal, scale=scale, layout=layout, layer=layer)
    check_layout(layout)
    if q is not None and dout is None and causal is None:
        raise ValueError("causal=True or causal=False says which mask the whole attention has")
    observers = _observers()
    if observers is None:
        return
    if q is not None:
        observers.annotations.begin(q, k, v, dout, group, causal, scale, layout, layer)
    # In backward, out and lse may be among the inputs.
    if dq is not None or (out is not None and dout is None):
        results = dict(zip(_RESULTS, (out, lse, dq, dk, dv)))
        observers.annotations.end(results)


@harmless
def block(
    step,
    source,
    k,
    v,
    *,
    out=None,
    lse=None,
    running_lse=None,
    q_rows=None,
    k_rows=None,
    causal=False,
):
    """Describes one attended block, between the two calls of attention().

    step: The ring step, counted from 0. A step without attention needs no call.
    source: The rank in attention()'s group whose keys and values the job takes these for.
    k, v: The whole block as it was held, in attention()'s layout.
    out, lse: The results of this block alone, for the rows that it attends, as its kernel returned them. Omit both in
        backward.
    running_lse: The lse of all rows after the merge, [B, H, S].
    q_rows, k_rows: The ranges (begin, end) of this rank's rows and of the block's rows that take part; None: all.
    causal: Whether row i of q_rows attends only the first i + 1 rows of k_rows.

    The block's time ends with this call. It begins with the last attention operator, annotation or wait for a message
    before the call.
    """
    observers = _observers()
    if observers is not None:
        check_values(k=k, v=v, out=out, lse=lse, running_lse=running_lse, causal=causal)
        check_values(step=step, source=source, q_rows=q_rows, k_rows=k_rows)
        observers.annotations.block(
            step, source, k, v, out, lse, running_lse, q_rows, k_rows, causal
        )
