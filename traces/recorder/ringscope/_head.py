# SPDX-License-Identifier: Apache-2.0
"""The output projection: the parameter that makes the logits of the loss, known by what it does."""

from collections import deque

_MOST_NODES = 64  # of autograd's graph between the logits and their parameter
_HINTS = ("lm_head", "output", "unembed", "head")


def projection_of(logits, named):
    """Returns the name of the parameter that projects onto the logits' last dimension, the vocabulary, or None. `named`
    has (name, parameter) of the model. Autograd's graph leads from the logits to it. Without a graph, it is the only
    parameter of that size, or among several the one whose name says so, or the last one."""
    rows = logits.shape[-1]
    fits = {id(p): name for name, p in named if p.dim() == 2 and p.shape[0] == rows}
    found = _nearest(logits.grad_fn, fits)
    if found or not fits:
        return found
    names = list(dict.fromkeys(fits.values()))
    hinted = [name for name in names if any(hint in name for hint in _HINTS)]
    return (hinted or names)[-1]


def _nearest(node, fits):
    """Returns the name of the nearest parameter in a graph among `fits`, by their ids."""
    waiting, seen = deque([node] if node is not None else []), set()
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.popleft()
        if node in seen:
            continue
        seen.add(node)
        name = fits.get(id(getattr(node, "variable", None)))
        if name:
            return name
        waiting.extend(following for following, _ in node.next_functions if following is not None)
    return None
