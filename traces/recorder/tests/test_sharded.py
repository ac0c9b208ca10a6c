# SPDX-License-Identifier: Apache-2.0
"""Recordings of models that FSDP2 and DDP wrap, in jobs of two processes over Gloo."""

import json
import os
import struct
import sys
import tempfile
import unittest

import torch

from jobs import PACKAGE, missing, torchrun
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

from ringscope._hashing import dotsum64, dotsum64_of_part  # noqa: E402


def values_of(folder, tensor):
    """Returns the float32 elements that the recording kept."""
    at = tensor["values"]
    with open(os.path.join(folder, at["file"]), "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        begin, end = header[at["key"]]["data_offsets"]
        file.seek(8 + size + begin)
        data = bytearray(file.read(end - begin))
    return torch.frombuffer(data, dtype=torch.float32).view(tensor["shape"])


class Sharded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if absent := missing("fsdp_cp"):
            raise unittest.SkipTest(f"it needs {' and '.join(absent)}")
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = os.path.join(cls.place.name, "run1")
        torchrun("fsdp_cp.py", cls.folder)
        cls.lines = [lines_of(cls.folder, rank) for rank in (0, 1)]

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def gradients(self):
        """Returns each parameter's gradients in the first training step, on both ranks."""
        found = {}
        for lines in self.lines:
            for tensor in of_kind(lines, "tensor"):
                if tensor["what"] == "grad" and tensor["step"] == 0:
                    found.setdefault(tensor["name"], []).append(tensor)
        return found

    def test_the_hash_of_a_whole_gradient_is_the_sum_of_what_its_parts_add(self):
        gradients = self.gradients()
        self.assertEqual(len(gradients), 15)
        for name, parts in gradients.items():
            whole = torch.cat([values_of(self.folder, part) for part in parts])
            self.assertEqual(list(whole.shape), parts[0]["part"]["of"], name)
            size = whole.numel() * whole.element_size()
            added = sum(int(part["part"]["hash"], 16) for part in parts)
            self.assertEqual((added + size * 0xD6E8FEB86659FD93) & (1 << 64) - 1, dotsum64(whole))

    def test_parts_say_where_they_begin_and_who_has_the_others(self):
        parts = [part["part"] for part in self.gradients()["lm_head.weight"]]
        self.assertEqual([part["begin"] for part in parts], [0, 32])
        self.assertEqual([part["ranks"] for part in parts], [[0, 1], [0, 1]])
        self.assertEqual(parts[0]["of"], [64, 32])

    def test_the_model_has_its_own_name_and_that_of_what_wraps_it(self):
        model = of_kind(self.lines[0], "model")[0]
        self.assertEqual((model["of"], model["around"]), ("TinyLlama", ["fully_shard"]))

    def test_sums_of_gradients_without_names_are_known_by_who_asked_for_them(self):
        for lines in self.lines:
            sums = [c for c in of_kind(lines, "collective") if c.get("sums_for")]
            self.assertEqual({c["operator"] for c in sums}, {"reduce_scatter"})
            self.assertEqual({c["sums_for"] for c in sums}, {"fully_shard"})
            self.assertEqual(len(sums), 2 * 3)  # two training steps; two layers and the rest

    def test_all_ends_without_trouble(self):
        for lines in self.lines:
            self.assertEqual(of_kind(lines, "trouble"), [])


class Parts(unittest.TestCase):
    def test_half_a_word_with_bytes_of_two_parts_belongs_to_none(self):
        from ringscope._parts import _share_of_hash

        values = torch.arange(6, dtype=torch.float32).to(torch.bfloat16)
        self.assertIsNone(_share_of_hash(values[:3], 0, 6))
        self.assertIsNone(_share_of_hash(values[3:], 3, 6))
        self.assertIsNotNone(_share_of_hash(values[4:], 4, 6))

    def test_shares_of_any_cut_add_up(self):
        values = torch.randn(11)
        for cut in (0, 1, 4, 11):
            added = dotsum64_of_part(values[:cut], 0) + dotsum64_of_part(values[cut:], 4 * cut)
            added += 44 * 0xD6E8FEB86659FD93
            self.assertEqual(added & (1 << 64) - 1, dotsum64(values))


if __name__ == "__main__":
    unittest.main()
