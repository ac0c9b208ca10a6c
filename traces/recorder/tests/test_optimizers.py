# SPDX-License-Identifier: Apache-2.0
"""Recordings of jobs whose optimizer contains others, as TorchTitan's does."""

import os
import sys
import tempfile
import unittest

import torch
from torch import nn

from jobs import PACKAGE
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402


class Container(torch.optim.Optimizer):
    def __init__(self, parameters):
        parameters = list(parameters)
        self.inner = torch.optim.AdamW(parameters, lr=0.25)
        super().__init__(parameters, {})

    def step(self):
        self.inner.step()


class NestedOptimizers(unittest.TestCase):
    def test_a_training_step_ends_once(self):
        model = nn.Linear(2, 2)
        optimizer = Container(model.parameters())
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            with ringscope.record(folder, model=model, steps=None):
                for _ in range(3):
                    model(torch.ones(1, 2)).sum().backward()
                    optimizer.step()
            lines = lines_of(folder)
        self.assertEqual([line["step"] for line in of_kind(lines, "step")], [0, 1, 2])
        self.assertEqual([line["microbatches"] for line in of_kind(lines, "step")], [1, 1, 1])
        self.assertEqual([(line["of"], line["lr"]) for line in of_kind(lines, "optimizer")], [("AdamW", 0.25)] * 3)
        gradients = [(line["step"], line["name"]) for line in of_kind(lines, "tensor") if line["what"] == "grad"]
        self.assertEqual(gradients, [(step, name) for step in range(3) for name in ("weight", "bias")])
        self.assertEqual(of_kind(lines, "trouble"), [])


if __name__ == "__main__":
    unittest.main()
