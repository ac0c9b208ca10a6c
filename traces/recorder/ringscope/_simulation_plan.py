# SPDX-License-Identifier: Apache-2.0
"""The plan of a simulated ring: which rank owns which tokens, which pairs are attended, and which block comes when."""

import torch

BALANCES = ("contiguous", "head_tail", "striped")
MASKS = ("full", "causal", "window")


def owned_tokens(balance, tokens, ranks):
    """Returns the global positions of each rank's tokens, in the order in which the rank holds them.

    The balance contiguous gives one slice per rank. The balance head_tail gives slices r and 2R − 1 − r of 2R. The
    balance striped gives every R-th token.

    Raises ValueError if the tokens do not divide.
    """
    if balance not in BALANCES:
        raise ValueError(f"balance={balance!r} is unknown; pass one of {', '.join(BALANCES)}")
    parts = 2 * ranks if balance == "head_tail" else ranks
    if ranks < 1 or tokens < 1 or tokens % parts:
        raise ValueError(f"{tokens} tokens do not divide into {parts} equal parts; pass tokens= a multiple of {parts}")
    every = torch.arange(tokens)
    if balance == "striped":
        return [every[rank::ranks] for rank in range(ranks)]
    slices = every.chunk(parts)
    if balance == "contiguous":
        return list(slices)
    return [torch.cat([slices[rank], slices[parts - 1 - rank]]) for rank in range(ranks)]


def attended(mask, window, queries, keys):
    """Returns which pairs of global positions are attended, [queries, keys]. A window counts the query's own key."""
    if mask not in MASKS:
        raise ValueError(f"mask={mask!r} is unknown; pass one of {', '.join(MASKS)}")
    if (mask == "window") != (window is not None):
        raise ValueError("a window mask needs window=, the number of keys that a query sees; other masks have none")
    distance = queries.unsqueeze(1) - keys.unsqueeze(0)
    if mask == "full":
        return torch.ones_like(distance, dtype=torch.bool)
    return (distance >= 0) & (distance < (window or distance.numel() + 1) if mask == "window" else distance >= 0)


def source_rank(rank, step, ranks):
    """Returns whose KV block a rank attends at a ring step: blocks travel to the next rank, step 0 is its own."""
    return (rank - step) % ranks
