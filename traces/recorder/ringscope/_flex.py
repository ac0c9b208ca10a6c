# SPDX-License-Identifier: Apache-2.0
"""flex_attention in eager mode; _flex_compiled records what torch.compile makes of it.

PyTorch implements it as a higher-order operator whose functions are traced graphs. The names of these functions are
found by the place in the job's code from which their operators come."""

import inspect
import math
import threading

import torch

from ._flex_mask import called, changes_scores, mask_of
from ._operators import is_of_another

_NO_BLOCKS = 1 << 30  # the size of a block if the job gave no block mask


class FlexOperator:
    """The interface of _operators.Operator for flex_attention."""

    is_math = is_followed = False
    full_name = name = "flex_attention"

    def __init__(self, hop, direction):
        self.func = hop
        self.direction = direction
        self._names = tuple(inspect.signature(type(hop).__call__).parameters)[1:]

    def named(self, args, kwargs):
        return {**dict(zip(self._names, args)), **kwargs}

    @staticmethod
    def mask_function(blocks):
        return blocks[-1]

    def given(self, args, kwargs):
        """Returns the arguments by name, and the mask and score that the functions amount to."""
        given = self.named(args, kwargs)
        blocks, score = given["block_mask"], given.get("score_mod", given.get("fw_graph"))
        q, k = given["query"], given["key"]
        mask = mask_of(blocks[-1], given.get("mask_mod_other_buffers", ()), q, k)
        return {**given, **what_it_attends(q, k, mask, blocks, score)}

    @staticmethod
    def lse_of(results):
        """Returns lse to the base e; the kernels return it to the base 2."""
        return results[1] * math.log(2)

    @staticmethod
    def says(given):
        return {"flex": given["flex"]}


def _blocks(mask):
    """Describes a BlockMask's tuple: the rows and keys of a block, and the numbers of attended and of all blocks."""
    if mask is None or mask[-2] >= _NO_BLOCKS:
        return None
    counts, indices, full = mask[2], mask[3], mask[4]
    kept = int(counts.sum()) + (int(full.sum()) if full is not None else 0)
    return {"size": [int(mask[-3]), int(mask[-2])], "kept": kept, "of": indices.numel()}


def what_it_attends(q, k, mask, blocks, score):
    """Describes the attended pairs, from a mask of mask_of(), a BlockMask's tuple and the score function. The keys
    is_causal and attn_mask are as for other operators; attn_mask=True says that is_causal is not the whole mask."""
    scored = score is not None and changes_scores(score)
    sizes = _blocks(blocks)
    return {
        "is_causal": mask["kind"] == "causal",
        "attn_mask": True if scored or mask["kind"] not in ("causal", "full") else None,
        "flex": {
            "mask": {**mask, "name": called(blocks[-1]) if sizes else None},
            "blocks": sizes,
            "score": called(score) or "unknown" if scored else None,
            "shares_kv_heads": q.size(1) != k.size(1),
        },
    }


class FlexGate:
    """A gate like _operators.Gate: while open, calls `seen(operator, args, kwargs, run)` in place of the kernels.
    Raises ImportError, AttributeError or KeyError if this PyTorch has no such kernels."""

    def __init__(self, seen):
        from torch._higher_order_ops.flex_attention import flex_attention, flex_attention_backward

        operators = (
            FlexOperator(flex_attention, "forward"),
            FlexOperator(flex_attention_backward, "backward"),
        )
        self._key = torch._C.DispatchKey.CompositeExplicitAutograd
        self._kernels = [
            (operator, operator.func.py_kernels[self._key], operator.func._dispatch_cache)
            for operator in operators
        ]
        self._seen = seen
        self._thread = threading.get_ident()
        self._replaced = []

    def look(self, looks):
        """Opens or closes the gate."""
        if looks == bool(self._replaced):
            return
        for operator, kernel, cache in self._kernels if looks else ():
            before = self._before(operator, kernel)
            self._put(operator.func, cache, before)
            self._replaced.append((operator.func, kernel, cache, before))
        while not looks and self._replaced:
            hop, kernel, cache, before = self._replaced.pop()
            if hop.py_kernels[self._key] is before:
                self._put(hop, cache, kernel)

    def _put(self, hop, cache, kernel):
        hop.py_kernels[self._key] = kernel
        cache.clear()  # the next call fills the cache again

    def _before(self, operator, kernel):
        def before(*args, **kwargs):
            if is_of_another(self._thread):
                return kernel(*args, **kwargs)
            return self._seen(operator, args, kwargs, lambda: kernel(*args, **kwargs))

        return before
