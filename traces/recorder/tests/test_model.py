# SPDX-License-Identifier: Apache-2.0
"""The recorder names a model's output projection, and modules that mix tokens without attention."""

import os
import sys
import tempfile
import unittest

import torch
import torch.nn.functional as F
from torch import nn

from jobs import PACKAGE
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402


class Model(nn.Module):
    def __init__(self, tied=False):
        super().__init__()
        self.words, self.inner = nn.Embedding(16, 8), nn.Linear(8, 8)
        self.later = nn.Linear(8, 16, bias=False)
        self.unused = nn.Linear(8, 16, bias=False)
        self.tied = tied

    def forward(self, ids):
        x = self.inner(self.words(ids))
        return F.linear(x, self.words.weight) if self.tied else self.later(x)


class Mamba(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.mix = nn.Embedding(16, 8), nn.Conv1d(8, 8, 4)
        self.patches = nn.Conv1d(8, 8, 4, stride=4)
        self.memory = nn.ModuleList([nn.LSTM(8, 8)])

    def forward(self, ids):
        return self.words(ids)


class Observed(unittest.TestCase):
    def lines(self, model, kind, **autocast):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            with ringscope.record(folder, model=model):
                ids = torch.arange(8)[None]
                with torch.autocast("cpu", enabled=bool(autocast), **autocast):
                    logits = model(ids)
                F.cross_entropy(logits.float().reshape(8, -1), ids[0] % logits.shape[-1]).backward()
            return of_kind(lines_of(folder), kind)

    def test_the_output_projection_is_known_without_its_name(self):
        (head,) = self.lines(Model(), "head")
        self.assertEqual((head["parameter"], head["rows"]), ("later.weight", 16))
        (head,) = self.lines(Model(), "head", dtype=torch.bfloat16)
        self.assertEqual(head["parameter"], "later.weight")
        (head,) = self.lines(Model(tied=True), "head")
        self.assertEqual(head["parameter"], "words.weight")

    def test_modules_that_mix_tokens_without_attention_are_named(self):
        (line,) = self.lines(Mamba(), "unwatched")
        self.assertEqual(line["modules"], [["mix", "Conv1d"], ["memory.0", "LSTM"]])
        self.assertEqual(self.lines(Model(), "unwatched"), [])

    def test_the_call_that_makes_a_model_known_is_observed_too(self):
        class Placed(Model):
            def forward(self, ids, position_ids=None):
                return super().forward(ids)

        with tempfile.TemporaryDirectory() as place:
            folder, ids, model = os.path.join(place, "run"), torch.arange(8)[None], Placed()
            with ringscope.record(folder):
                for _ in range(2):
                    logits = model(ids, position_ids=ids)
                    F.cross_entropy(logits.reshape(8, -1), ids[0]).backward()
            lines = lines_of(folder)
        self.assertEqual([line["microbatch"] for line in of_kind(lines, "loss")], [0, 1])
        placed = [line["microbatch"] for line in of_kind(lines, "given")]
        self.assertEqual(placed, [0, 1])


if __name__ == "__main__":
    unittest.main()
