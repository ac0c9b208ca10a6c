# SPDX-License-Identifier: Apache-2.0
"""The orders in which ranks are dealt the tokens of a sequence."""

import torch


def orders(tokens, size):
    """Yields balances and the tokens that they give each rank of a sequence."""
    every = torch.arange(tokens)
    yield "none", list(every.chunk(size))
    if tokens % (2 * size) == 0:
        cut = every.chunk(2 * size)
        yield "head_tail", [torch.cat([cut[at], cut[-1 - at]]) for at in range(size)]
    yield "striped", [every[at::size] for at in range(size)]
