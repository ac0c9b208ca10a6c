# SPDX-License-Identifier: Apache-2.0
"""The recorder observes causal convolutions, scattered features, and positions behind tables of cos and sin."""

import os
import sys
import tempfile
import unittest

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from jobs import HERE, PACKAGE, torchrun
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402


class Convolved(nn.Module):
    """A causal convolution of 4 tokens after `before`, and one that mixes channels."""

    def __init__(self, before):
        super().__init__()
        self.words, self.mix = nn.Embedding(16, 8), nn.Conv1d(8, 8, 4, groups=8)
        self.other, self.head = nn.Conv1d(8, 8, 1), nn.Linear(8, 16)
        self.before = before

    def forward(self, ids):
        x = self.words(ids).transpose(1, 2)
        x = self.other(self.mix(torch.cat([self.before, x], 2)))
        return self.head(x.transpose(1, 2))


class Corrected(Convolved):
    """Sends the last tokens in bfloat16 before the convolution, in the forward passes that `sends` names."""

    def __init__(self, sends):
        super().__init__(torch.zeros(1, 8, 3))
        self.sends = iter(sends)

    def forward(self, ids):
        if next(self.sends):
            tail = self.words(ids)[:, -3:].detach().bfloat16().contiguous()
            dist.all_gather([torch.empty_like(tail)], tail)
        return super().forward(ids)


class Media(nn.Module):
    def __init__(self, pixels):
        super().__init__()
        self.pixels = pixels
        self.words, self.visual, self.head = nn.Embedding(16, 8), nn.Linear(3, 8), nn.Linear(8, 16)

    def forward(self, ids):
        x, features = self.words(ids), self.visual(self.pixels)
        return self.head(x.masked_scatter((ids < 2)[..., None].expand_as(x), features))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x, cos, sin):
        return self.inner(F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[:, 0])


class Rotated(nn.Module):
    def __init__(self, positions):
        super().__init__()
        self.words, self.layers, self.head = nn.Embedding(16, 8), nn.ModuleList([Block()]), nn.Linear(8, 16)
        turns = positions[:, None] * torch.tensor([1.0, 0.1, 0.01, 0.001])
        self.cos, self.sin = turns.cos()[None], turns.sin()[None]

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.head(x)


class ObservedParts(unittest.TestCase):
    def lines(self, model, kind, calls=1):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            with ringscope.record(folder, model=model):
                ids = torch.arange(8)[None]
                for _ in range(calls - 1):
                    model(ids)
                F.cross_entropy(model(ids).reshape(8, -1), ids[0]).backward()
            lines = lines_of(folder)
            self.assertEqual(of_kind(lines, "trouble"), [])
            return of_kind(lines, kind)

    def test_a_causal_convolution_tells_whether_it_begins_with_zeros(self):
        for before, zeros in ((torch.zeros(1, 8, 3), True), (torch.ones(1, 8, 3), False)):
            (line,) = self.lines(Convolved(before), "convolution")
            self.assertEqual((line["module"], line["tokens"], line["before"]), ("mix", 8, 3))
            self.assertEqual((line["begins_with_zeros"], line["tail_moved"]), (zeros, False))

    def test_a_message_before_a_convolution_may_bring_the_earlier_tokens(self):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        for sends in ((True, False), (False, True)):
            lines = self.lines(Corrected(sends), "convolution", calls=2)
            self.assertEqual([line["tail_moved"] for line in lines], list(sends))

    def test_features_that_are_scattered_are_counted(self):
        (line,) = self.lines(Media(torch.eye(5, 3)), "scattered")
        self.assertEqual((line["tokens"], line["rows"], line["used"]), (8, 5, 2))

    def test_repeated_features_are_no_media(self):
        for features in (torch.ones(5, 3), torch.eye(2, 3).repeat(3, 1)):
            self.assertEqual(self.lines(Media(features), "scattered"), [])

    def test_positions_are_read_from_tables_that_a_layer_is_given(self):
        for positions in (torch.arange(8.0), torch.arange(8.0) % 5):
            found = [line for line in self.lines(Rotated(positions), "tensor") if line["what"] == "position_ids"]
            self.assertEqual([line["name"] for line in found], ["rotations"])
            self.assertEqual(found[0]["stats"]["max"], positions.max().item())

    def merges(self, function):
        """Returns what the merges of both ranks of partial_merges_job.py were found to be."""
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            job = os.path.join(HERE, "partial_merges_job.py")
            torchrun("-m", "ringscope", job, function, RINGSCOPE_RECORD=folder)
            lines = [line for rank in range(2) for line in lines_of(folder, rank)]
            self.assertEqual(of_kind(lines, "trouble"), [])
            groups = {line["name"] for line in of_kind(lines, "group")}
            found = of_kind(lines, "merge")
            self.assertLessEqual({line["group"] for line in found}, groups)
            return {line["found"] for line in found}

    def test_merges_of_partial_attention_are_judged(self):
        self.assertEqual(self.merges("right"), {"NONE"})
        self.assertEqual(self.merges("mean"), {"MEAN"})

    def test_outputs_that_were_weighted_before_the_gather_are_not_judged(self):
        for function in ("weighted_first", "scaled_by_maximum"):
            self.assertLessEqual(self.merges(function), {"NONE"})

    def test_other_gathered_pairs_are_no_partial_attention(self):
        self.assertEqual(self.merges("entropies"), set())

    def test_a_merge_is_not_awaited_after_another_gather_a_step_or_many_calls(self):
        self.assertEqual(self.merges("gathers_again"), {"MEAN"})
        self.assertEqual(self.merges("ends_step"), set())
        self.assertEqual(self.merges("long_function"), set())


if __name__ == "__main__":
    unittest.main()
