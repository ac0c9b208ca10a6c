# SPDX-License-Identifier: Apache-2.0
"""Checks merges of partial attention outputs as decode context parallelism makes them, right and wrong.

Needs no process group:  PYTHONPATH=traces/recorder python traces/recorder/examples/check_merge.py
"""

import math

import torch

import ringscope

LN2 = math.log(2.0)
RANKS, TOKENS, HEADS, FEATURES = 4, 8, 4, 64


def merge_base_2(outs, lses, sinks=None, times=1):
    """Merges outs [R, S, H, D] whose lses [R, S, H] are in base 2, as FlashInfer's are."""
    states = [*lses] + ([] if sinks is None else times * [(sinks / LN2).expand_as(lses[0])])
    top = torch.stack(states).amax(0)
    total = sum(torch.exp2(state - top) for state in states)
    return (torch.exp2(lses - top).unsqueeze(-1) * outs).sum(0) / total.unsqueeze(-1), torch.log2(total) + top


def attend(q, k, v, mask):
    """Attention of q [S, H, D] to one block k, v [T, H, D], in base e."""
    scores = torch.einsum("shd,thd->sht", q, k) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~mask.unsqueeze(1), -math.inf)
    lse = torch.logsumexp(scores, -1)
    weights = torch.exp(scores - lse.nan_to_num(neginf=0.0).unsqueeze(-1))
    return torch.einsum("sht,thd->shd", weights, v), lse


def main():
    torch.manual_seed(0)
    outs = torch.randn(RANKS, TOKENS, HEADS, FEATURES)
    lses = torch.randn(RANKS, TOKENS, HEADS) * 3
    sinks = torch.randn(HEADS)

    out, lse = merge_base_2(outs, lses)
    print(ringscope.check_merge(outs, lses, out.bfloat16(), lse, base=2))

    wrong = (torch.softmax(lses, 0).unsqueeze(-1) * outs).sum(0)  # as if the lses were natural logarithms
    print(ringscope.check_merge(outs, lses, wrong.bfloat16(), base=2))

    lses[:, 0] = -math.inf  # token 0 has no keys on any rank
    outs[:, 0] = 0
    out, lse = merge_base_2(outs, lses)  # −inf − −inf is NaN
    print(ringscope.check_merge(outs, lses, out, lse, base=2))

    out, lse = merge_base_2(outs[:, 1:], lses[:, 1:], sinks, times=RANKS)
    print(ringscope.check_merge(outs[:, 1:], lses[:, 1:], out, lse, base=2, sinks=sinks))

    print(ringscope.simulate(attend, ranks=4, balance="head_tail", mask="causal"))


if __name__ == "__main__":
    main()
