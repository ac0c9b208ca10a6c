# SPDX-License-Identifier: Apache-2.0
"""The facts about attention that arguments and modules state."""

import sys
import unittest

import torch
from torch import nn

from jobs import PACKAGE

sys.path.insert(0, PACKAGE)

from ringscope._attention_facts import facts_of, mask_kind, scale_and_mask  # noqa: E402

QUERIES = torch.zeros(1, 2, 6, 4)


class TinyAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 0.5
        self.sinks = nn.Parameter(torch.ones(2))


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 3.0


class AttentionFacts(unittest.TestCase):
    def test_a_layer_states_the_scale_of_its_attention_and_not_of_its_norm(self):
        layer = nn.ModuleList([TinyAttention(), Norm()])
        facts, sinks = facts_of(layer)
        self.assertEqual(facts, {"scale": 0.5})
        self.assertIs(sinks, layer[0].sinks)

    def test_a_mask_of_numbers_has_its_documents(self):
        within = torch.block_diag(torch.ones(2, 2), torch.ones(4, 4)).tril()
        numbers = torch.zeros(6, 6).masked_fill(within == 0, -torch.inf)
        for mask in (within.bool(), numbers, numbers[None, None]):
            kind = mask_kind(mask, QUERIES, QUERIES)
            self.assertEqual((kind["kind"], kind["documents"]), ("documents", [[0, 2], [2, 6]]))

    def test_a_bias_is_no_mask(self):
        self.assertIsNone(mask_kind(torch.rand(6, 6), QUERIES, QUERIES)["kind"])

    def test_a_call_without_a_scale_says_so(self):
        self.assertEqual(scale_and_mask({}), {"scale": None, "default_scale": True})
        self.assertEqual(scale_and_mask({"scale": 0.5}), {"scale": 0.5, "default_scale": False})


if __name__ == "__main__":
    unittest.main()
