# SPDX-License-Identifier: Apache-2.0
"""flex_attention over gathered keys and values: what a recording of PyTorch's functional interface holds."""

import json
import os
import sys
import tempfile
import unittest

import torch

from jobs import PACKAGE, missing, torchrun

sys.path.insert(0, PACKAGE)

from ringscope._flex_mask import whole_mask_of  # noqa: E402


def lines_of(folder, rank):
    with open(os.path.join(folder, f"rank-{rank:05}.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def rows(tokens):
    return [token for begin, end in tokens for token in range(begin, end)]


class Recorded(unittest.TestCase):
    def record(self, script, processes):
        if absent := missing(script):
            self.skipTest(f"it needs {' and '.join(sorted(absent))}")
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            torchrun(script + ".py", folder, processes=processes)
            return [lines_of(folder, rank) for rank in range(processes)]

    def check_attention(self, lines, kind):
        self.assertFalse([line for line in lines if line["line"] == "trouble"])
        attentions = [line for line in lines if line["line"] == "attention"]
        ends = {line["call"]: line for line in lines if line["line"] == "attention_end"}
        self.assertEqual(len(attentions), 8)  # two layers, two steps, forward and backward
        for line in attentions:
            end = ends[line["call"]]
            self.assertEqual(end["strategy"], "all_gather")
            self.assertEqual(line["mask"]["kind"], kind)
            self.assertEqual(line["q_shape"], line["k_shape"])  # the rank's own keys, not the gathered ones
            expected = {"out", "lse"} if line["direction"] == "forward" else {"dq", "dk", "dv"}
            self.assertEqual(set(end["tensors"]), expected)
        return attentions

    def test_documents_and_the_parts_of_each_document_are_known(self):
        lines = self.record("flex_documents", 2)
        for of_rank in lines:
            for attention in self.check_attention(of_rank, "documents"):
                self.assertEqual(attention["mask"]["documents"], [[0, 256], [256, 768], [768, 1024]])
            self.assertEqual(self.buffer(of_rank)["balance"], "PerDocumentHeadTailLoadBalancer")
        owned = sorted(token for of_rank in lines for token in rows(self.buffer(of_rank)["tokens"]))
        self.assertEqual(owned, list(range(1024)))

    @staticmethod
    def buffer(lines):
        return next(line for line in lines if line["line"] == "buffer")

    def test_the_blocks_that_ptrr_deals_are_known(self):
        lines = self.record("flex_ptrr", 2)
        for of_rank in lines:
            self.check_attention(of_rank, "causal")
        # Blocks of 128 tokens need 8, 7, …, 1 blocks of keys, dealt in pairs, every second pair turned round.
        blocks = [[7, 4, 3, 0], [6, 5, 2, 1]]
        for rank, own in enumerate(blocks):
            expected = [token for block in sorted(own) for token in range(128 * block, 128 * block + 128)]
            self.assertEqual(rows(self.buffer(lines[rank])["tokens"]), expected)

    def test_buffers_of_a_mapping_have_their_names(self):
        names = {line["name"] for line in self.record("flex_ptrr", 2)[0] if line["line"] == "buffer"}
        self.assertEqual(names, {"input_ids", "labels", "position_ids"})


class WholeMasks(unittest.TestCase):
    def ask(self, function, order):
        q, k = torch.empty(1, 1, 4, 2), torch.empty(1, 1, 8, 2)
        return whole_mask_of(function, (), q, k, 1, order)["kind"]

    def rewritten(self, order):
        """Returns PyTorch's mask of the second of two ranks, made from a causal mask."""

        def _rewrite_mask_mod():
            return lambda batch, head, row, key: order[row + 4] >= order[key]

        return _rewrite_mask_mod()

    def test_a_mask_is_evaluated_in_the_order_of_tokens(self):
        order = torch.tensor([0, 1, 6, 7, 2, 3, 4, 5])
        self.assertEqual(self.ask(self.rewritten(order), order), "causal")

    def test_a_mask_of_another_order_than_that_of_the_batch_is_not_causal(self):
        order = torch.tensor([0, 1, 6, 7, 2, 3, 4, 5])
        self.assertNotEqual(self.ask(self.rewritten(torch.arange(8)), order), "causal")

    def test_the_mask_is_unknown_without_an_order_or_if_the_job_wrote_the_function(self):
        order = torch.arange(8)
        self.assertIsNone(self.ask(self.rewritten(order), None))
        self.assertIsNone(self.ask(lambda batch, head, row, key: row + 4 >= key, order))


if __name__ == "__main__":
    unittest.main()
