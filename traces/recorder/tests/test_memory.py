# SPDX-License-Identifier: Apache-2.0
"""Recordings of the memory that a rank holds."""

import os
import sys
import tempfile
import unittest
from unittest import mock

import torch

from jobs import EXAMPLES, PACKAGE, torchrun
from test_recording import lines_of, of_kind, step

sys.path[:0] = [PACKAGE, EXAMPLES]

import ringscope  # noqa: E402
from ringscope import _memory  # noqa: E402
from tiny_llama import TinyLlama  # noqa: E402


class OneProcess(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.addCleanup(ringscope.stop)
        folder = os.path.join(place.name, "run1")
        self.model = TinyLlama()
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        with ringscope.record(folder, model=self.model, steps=range(2)):
            step(self.model, optimizer)
            step(self.model, optimizer)
        self.samples = of_kind(lines_of(folder), "memory")
        self.weights = sum(p.numel() for p in self.model.parameters()) * 4

    def held(self, after, step):
        return [s["held"] for s in self.samples if (s["after"], s["step"]) == (after, step)][-1]

    def test_weights_gradients_and_optimizer_state_are_those_that_exist(self):
        self.assertEqual({s["held"]["weights"] for s in self.samples}, {self.weights})
        self.assertEqual(self.held("loss", 0)["gradients"], 0)
        self.assertEqual(self.held("optimizer", 0)["gradients"], self.weights)
        self.assertEqual(self.held("optimizer", 0)["optimizer"], 0)
        moments = 2 * self.weights + 4 * len(list(self.model.parameters()))  # and one count per parameter
        self.assertEqual(self.held("step", 0)["optimizer"], moments)

    def test_gradients_that_were_taken_away_are_not_counted(self):
        self.assertEqual(self.held("loss", 1)["gradients"], 0)

    def test_attention_holds_its_own_tensors_and_no_other_layers(self):
        calls = [sample["held"] for sample in self.samples if sample["after"] == "attention"]
        tensor = 64 * 32 * 4  # tokens, width
        for held in calls[:2]:
            self.assertEqual((held["q"], held["kv"]), (tensor, 2 * tensor))

    def test_what_backward_of_attention_holds_is_not_guessed(self):
        calls = [sample["held"] for sample in self.samples if sample["after"] == "attention"]
        for held in calls[2:4]:
            self.assertFalse({"q", "kv"} & held.keys())

    def test_every_sample_has_what_the_process_holds_and_the_recorders_part(self):
        for sample in self.samples:
            self.assertGreater(sample["resident"], 10 << 20)
            self.assertGreaterEqual(sample["recorder"], 0)
            self.assertIsNone(sample["device"])


class Ring(unittest.TestCase):
    def test_a_gathered_ring_holds_its_own_block_and_those_of_all_ranks(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run1")
            torchrun("right.py", folder)
            samples = of_kind(lines_of(folder), "memory")
        block = 2 * 32 * 32 * 4  # keys and values of 32 tokens
        first = [s["held"] for s in samples if s["after"] in ("attention", "hop")][:2]
        self.assertEqual([held["kv"] for held in first], [block, 3 * block])
        ended = [s["held"] for s in samples if s["after"] == "attention_end"][0]
        self.assertEqual(ended["out_lse"], 32 * 32 * 4 + 4 * 32 * 4)


class System(unittest.TestCase):
    def test_of_a_cuda_device_the_allocators_numbers_are_taken(self):
        stats = {"allocated_bytes.all.current": 5, "allocated_bytes.all.peak": 9, "other": 1}
        stats["reserved_bytes.all.current"] = 12
        with mock.patch.multiple(
            torch.cuda,
            is_available=lambda: True,
            is_initialized=lambda: True,
            memory_stats=lambda: stats,
        ):
            found = _memory.device_bytes()
        self.assertEqual(found, {"allocated": 5, "most_allocated": 9, "reserved": 12})

    def test_where_the_system_does_not_say_what_a_process_holds_nothing_is_said(self):
        with mock.patch("builtins.open", side_effect=FileNotFoundError):
            self.assertIsNone(_memory.resident_bytes(_memory._opened()))

    def test_tensors_that_share_their_memory_count_once(self):
        weight = torch.zeros(4, 4)
        self.assertEqual(_memory.bytes_of([weight, weight.view(16), torch.zeros(2)]), 64 + 8)


if __name__ == "__main__":
    unittest.main()
