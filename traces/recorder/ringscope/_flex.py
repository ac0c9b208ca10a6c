# SPDX-License-Identifier: Apache-2.0
"""flex_attention where PyTorch runs it as it is written; _flex_compiled has what torch.compile makes of it.

PyTorch has it as an operator of higher order, whose functions are traced graphs then: what they are called is
told by where in the job's code their operators come from."""

import inspect
import math
import threading

import torch

from ._flex_mask import called, changes_scores, mask_of
from ._operators import is_of_another

_NO_BLOCKS = 1 << 30  # the size of a block where the job gave no block mask


class FlexOperator:
    """As _operators.Operator is of others."""

    is_math = is_followed = False
    full_name = name = "flex_attention"

    def __init__(self, hop, direction):
        self.func = hop
        self.direction = direction
        self._names = tuple(inspect.signature(type(hop).__call__).parameters)[1:]

    def given(self, args, kwargs):
        """What it was called with, by the names of its arguments, and what its functions come to."""
        given = {**dict(zip(self._names, args)), **kwargs}
        blocks, score = given["block_mask"], given.get("score_mod", given.get("fw_graph"))
        q, k = given["query"], given["key"]
        mask = mask_of(blocks[-1], given.get("mask_mod_other_buffers", ()), q, k)
        return {**given, **what_it_attends(q, k, mask, blocks, score)}

    @staticmethod
    def lse_of(results):
        """Its kernels have it to the base 2."""
        return results[1] * math.log(2)

    @staticmethod
    def says(given):
        return {"flex": given["flex"]}


def _blocks(mask):
    """Of a BlockMask's tuple: a block's rows and keys, and how many blocks of how many are attended."""
    if mask is None or mask[-2] >= _NO_BLOCKS:
        return None
    counts, indices, full = mask[2], mask[3], mask[4]
    kept = int(counts.sum()) + (int(full.sum()) if full is not None else 0)
    return {"size": [int(mask[-3]), int(mask[-2])], "kept": kept, "of": indices.numel()}


def what_it_attends(q, k, mask, blocks, score):
    """Of a mask as mask_of() has it, a BlockMask's tuple and the function of scores: what is_causal and attn_mask
    (true: not all that is attended is told by is_causal) are of other operators, and flex."""
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
    """As _operators.Gate: while it is open, calls `seen(operator, args, kwargs, run)` in the kernels' place.
    ImportError, AttributeError or KeyError where this PyTorch has no such kernels."""

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
        """Opens or closes it."""
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
        cache.clear()  # the next call fills it again

    def _before(self, operator, kernel):
        def before(*args, **kwargs):
            if is_of_another(self._thread):
                return kernel(*args, **kwargs)
            return self._seen(operator, args, kwargs, lambda: kernel(*args, **kwargs))

        return before
