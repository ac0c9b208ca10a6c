# SPDX-License-Identifier: Apache-2.0
"""Positions of a rotary embedding that neither an argument nor a module names."""

import os
import sys
import tempfile
import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from jobs import PACKAGE
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402
from ringscope._rotations import positions_behind  # noqa: E402

HEAD_TAIL = [0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31]


def angles(positions):
    return torch.tensor(positions)[..., None].float() * 100 ** (-torch.arange(4) / 4)


def rotate_pairs(x, positions):
    turns = torch.polar(torch.ones(()), angles(positions))
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (4, 2))) * turns).flatten(-2)


def rotate_halves(x, positions):
    turns = torch.cat([angles(positions)] * 2, -1)
    turned = torch.cat([-x[..., 4:], x[..., :4]], -1)
    return x * turns.cos()[:, None] + turned * turns.sin()[:, None]


class Model(nn.Module):
    def __init__(self, rotate, positions, checkpointed=False):
        super().__init__()
        self.words, self.qkv, self.head = nn.Embedding(16, 8), nn.Linear(8, 24), nn.Linear(8, 16)
        self.rotate, self.positions, self.checkpointed = rotate, positions, checkpointed

    def attend(self, x):
        q, k, v = self.qkv(x)[:, None].chunk(3, -1)
        if self.rotate:
            q, k = self.rotate(q, self.positions), self.rotate(k, self.positions)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)[:, 0]

    def forward(self, ids):
        x = self.words(ids)
        x = x + (checkpoint(self.attend, x, use_reentrant=False) if self.checkpointed else self.attend(x))
        return self.head(x)


def read(rotate, positions, rows=1):
    found = positions_behind(Model(rotate, positions)(torch.zeros(rows, 16, dtype=torch.int64)), ranks=2)
    return None if found is None else found.tolist()


class Rotations(unittest.TestCase):
    def test_positions_are_read_off_the_angles(self):
        for positions in (HEAD_TAIL, list(range(16)), list(range(16, 32)), list(range(8)) * 2):
            self.assertEqual(read(rotate_pairs, positions), [positions])
            self.assertEqual(read(rotate_halves, [positions]), [positions])
        both = [HEAD_TAIL, list(range(16))]
        self.assertEqual(read(rotate_halves, both, rows=2), both)

    def test_positions_that_angles_do_not_tell_are_left_out(self):
        self.assertIsNone(read(None, None))
        self.assertIsNone(read(rotate_pairs, list(range(0, 32, 2))))
        self.assertIsNone(read(rotate_pairs, list(range(100, 116))))
        self.assertIsNone(read(lambda x, _: x * torch.rand(16, 8), None))

    def test_a_checkpoint_is_not_recomputed_to_read_them(self):
        for checkpointed, expected in ((False, 1), (True, 0)):
            with tempfile.TemporaryDirectory() as place:
                folder = os.path.join(place, "run")
                with ringscope.record(folder):
                    model = Model(rotate_pairs, list(range(16)), checkpointed)
                    model(torch.zeros(1, 16, dtype=torch.int64))
                lines = lines_of(folder)
                found = [line for line in of_kind(lines, "tensor") if line["what"] == "position_ids"]
                self.assertEqual(len(found), expected)
                passes = [line["pass"] for line in of_kind(lines, "attention")]
                self.assertEqual(passes, ["forward"])

    def test_the_indices_of_another_embedding_that_count_are_positions(self):
        words, places, kinds = nn.Embedding(16, 8), nn.Embedding(32, 8), nn.Embedding(2, 8)
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            with ringscope.record(folder):
                ids = torch.arange(16)[None]
                words(ids) + places(torch.tensor(HEAD_TAIL)) + kinds(torch.zeros_like(ids))
            tensors = of_kind(lines_of(folder), "tensor")
        found = [line["stats"]["max"] for line in tensors if line["what"] == "position_ids"]
        self.assertEqual(found, [31])


if __name__ == "__main__":
    unittest.main()
