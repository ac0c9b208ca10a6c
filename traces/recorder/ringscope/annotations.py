# SPDX-License-Identifier: Apache-2.0
"""What a job says of itself, where the recorder cannot see it: a line each.

None of these changes anything, and none raises for what it is told of tensors: what does not fit is
written into the recording, and said when that is opened.
"""

import ringscope

from ._names import annotate
from ._shapes import check_layout

_RESULTS = ("out", "lse", "dq", "dk", "dv")


def _observers():
    return ringscope._current


def buffer(tensor, name, *, tokens=None, seq_dim=1, length=None, group=None, whole=None):
    """Says what a buffer is called, and, in a job that cuts its own batch, which tokens it has.

    tensor: this rank's part, as the model or the loss gets it, or a view of it. Where
        context_parallel cuts it, the whole, before that; then only its name is wanted.
    name: "input_ids", "labels", "position_ids" where it is that.
    tokens: indices within the whole sequence, in the order of the tensor's dimension seq_dim: a
        range, a list or a 1-D tensor.
    length: tokens of the whole sequence; by default as many as the ranks of `group` have when each
        has as many as this one.
    group: the process group whose ranks share the sequence; None: all ranks.
    whole: the batch before it was cut, where there is one.

    Returns the tensor. Call it in every training step. Raises ValueError where tokens are not whole
    numbers from 0, or are not as many as the tensor has along seq_dim.
    """
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
    """Says that an attention over shards begins (with its inputs) or ends (with its results).

    Forward:   attention(q, k, v, group=group, causal=True)  …  attention(out=out, lse=lse)
    Backward:  attention(q, k, v, dout=dout, group=group)    …  attention(dq=dq, dk=dk, dv=dv)

    What a rank sends and receives between the two through torch.distributed are the attention's
    hops; what it attends, block() says. An attention whose heads are turned by all-to-all
    (DeepSpeed-Ulysses) needs no block(): PyTorch's attention operator within it is seen, and its backward, where
    autograd runs that, is known by the gradients of q, k, v and out.

    q, k, v, out, and their gradients: this rank's shard, [B, H, S, D], or [B, S, H, D] with
        layout="bshd"; k and v may have fewer heads. A packed [T, H, D] is not known: give it a
        batch dimension of 1.
    lse: natural logarithm of the sum of exp of out's scores, [B, H, S]; [B, S, H] and a last
        dimension of 1 are taken too. None where it is not at hand.
    group: the process group over which attention goes; None: all ranks.
    causal: whether the whole attention is causal; a forward that begins needs it.
    scale: of the scores; None: 1 / sqrt(D).
    layer: counted from 0; by default the decoder layer that the recorder sees at work. Backward is
        put where the forward with the same q was.

    In backward a message counts as keys and values where its memory or its content is that of k or v
    of the call or of one of its blocks, and as dK and dV else.

    Raises ValueError for an unknown layout, and for a forward that begins without causal.
    """
    check_layout(layout)
    if q is not None and dout is None and causal is None:
        raise ValueError("causal=True or causal=False says which mask the whole attention has")
    observers = _observers()
    if observers is None:
        return
    if q is not None:
        observers.annotations.begin(q, k, v, dout, group, causal, scale, layout, layer)
    # In backward out and lse may be among the inputs.
    if dq is not None or (out is not None and dout is None):
        results = dict(zip(_RESULTS, (out, lse, dq, dk, dv)))
        observers.annotations.end(results)


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
    """Says that one block was attended, between the two lines of attention().

    step: the ring step, from 0. A step that attends nothing needs no line.
    source: whose keys and values the job takes these for, as a rank of attention()'s group.
    k, v: the block as it was held, whole, in attention()'s layout.
    out, lse: what this block alone gives, for the rows that it attends, as its kernel returned them;
        in backward neither.
    running_lse: [B, H, S] of all rows after the merge.
    q_rows, k_rows: (begin, end) of this rank's rows and of the block's that take part; None: all.
    causal: whether row i of those q_rows attends only the first i + 1 of those k_rows.

    Its time runs to here from the attention operator before it, or from the line or the wait for a
    message before it, whichever was last.
    """
    observers = _observers()
    if observers is not None:
        observers.annotations.block(
            step, source, k, v, out, lse, running_lse, q_rows, k_rows, causal
        )
