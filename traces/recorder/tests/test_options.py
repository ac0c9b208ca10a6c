# SPDX-License-Identifier: Apache-2.0
"""Recordings contain the options that they were made with, and the buffer of the model's positions."""

import os
import sys
import tempfile
import unittest

import torch
from torch import nn

from jobs import EXAMPLES, PACKAGE

sys.path[:0] = [PACKAGE, EXAMPLES]

import ringscope  # noqa: E402
from test_recording import lines_of, of_kind  # noqa: E402


class Positioned(nn.Module):
    """A model with an argument `pos`: position ids as in GPT, or their encoding."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(8, 4)
        self.places = nn.Embedding(16, 4)

    def forward(self, x, pos):
        return self.tokens(x) + (pos if pos.is_floating_point() else self.places(pos))


def recorded(pos, **options):
    """Returns the lines of one call of the model, whose tokens and positions the job cut by itself."""
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "run1")
        model = Positioned()
        with ringscope.record(folder, model=model, **options):
            x = ringscope.buffer(torch.arange(4)[None], "x", tokens=range(4), length=8)
            model(x, ringscope.buffer(pos, "pos", tokens=range(4), length=8))
        return lines_of(folder)


class Options(unittest.TestCase):
    def test_the_options_are_written_down(self):
        lines = recorded(torch.arange(4)[None], values="all", steps=[0, 1, 5], budget_bytes=1 << 20)
        self.assertEqual(
            of_kind(lines, "options"),
            [
                {
                    "line": "options",
                    "values": "all",
                    "steps": [[0, 2], [5, 6]],
                    "max_tensor_bytes": 1 << 20,
                    "budget_bytes": 1 << 20,
                    "fingerprints": False,
                }
            ],
        )

    def test_all_steps_are_null(self):
        lines = recorded(torch.arange(4)[None], steps=None)
        self.assertIsNone(of_kind(lines, "options")[0]["steps"])

    def test_an_argument_pos_is_position_ids_and_names_the_buffer_that_it_is(self):
        lines = recorded(torch.arange(4)[None])
        self.assertEqual([(g["name"], g["buffer"]) for g in of_kind(lines, "given")], [("pos", "pos")])
        tensors = [t for t in of_kind(lines, "tensor") if t["what"] == "position_ids"]
        self.assertEqual([(t["name"], t["shape"]) for t in tensors], [("pos", [1, 4]), ("embedding", [1, 4])])

    def test_a_pos_of_real_numbers_is_no_position_id(self):
        lines = recorded(torch.zeros(1, 4, 4))
        self.assertEqual(of_kind(lines, "given"), [])
        self.assertEqual(of_kind(lines, "trouble"), [])


if __name__ == "__main__":
    unittest.main()
