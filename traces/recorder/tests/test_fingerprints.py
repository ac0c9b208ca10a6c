# SPDX-License-Identifier: Apache-2.0
"""The fingerprints of training steps that are not recorded."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch

from jobs import EXAMPLES, PACKAGE, program, torchrun
from test_recording import lines_of, of_kind, step

sys.path[:0] = [PACKAGE, EXAMPLES]

import ringscope  # noqa: E402
from ringscope._fingerprints import fingerprint  # noqa: E402
from ringscope._hashing import gridsum64  # noqa: E402
from tiny_llama import TinyLlama  # noqa: E402


class Numbers(unittest.TestCase):
    def test_every_element_is_in_the_norm_and_some_are_there_themselves(self):
        large = torch.randn(300, 100)
        before = fingerprint([large, torch.ones(3)])
        self.assertLessEqual(before.numel(), 4096 + 3 + 2)
        large[299, 99] += 100
        self.assertNotEqual(gridsum64(before), gridsum64(fingerprint([large, torch.ones(3)])))
        large[150, 77] = float("nan")
        self.assertTrue(torch.isnan(fingerprint([large])).any())

    def test_of_nothing_and_of_whole_numbers_there_is_none(self):
        self.assertIsNone(fingerprint([None, torch.ones(3, dtype=torch.int64)]))


class OneProcess(unittest.TestCase):
    def losses(self, folder, **options):
        torch.manual_seed(1)
        model = TinyLlama()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        with ringscope.record(folder, model=model, steps=range(1), **options):
            for _ in range(3):
                step(model, optimizer)
                ringscope.log(loss=1.0)
        return [parameter.sum().item() for parameter in model.parameters()]

    def test_steps_that_are_not_recorded_have_two_tensors_and_what_was_logged(self):
        with tempfile.TemporaryDirectory() as place:
            plain = self.losses(os.path.join(place, "plain"))
            with_them = self.losses(os.path.join(place, "marked"), fingerprints=True)
            self.assertEqual(plain, with_them)
            lines = lines_of(os.path.join(place, "marked"))
            later = [t for t in of_kind(lines, "tensor") if t["step"] > 0]
            self.assertEqual(
                [(t["step"], t["what"], t["name"], "values" in t) for t in later],
                [(at, what, "all parameters", False) for at in (1, 2) for what in ("grad", "weight")],
            )
            self.assertEqual([line["step"] for line in of_kind(lines, "log")], [0, 1, 2])
            self.assertEqual([line["step"] for line in of_kind(lines, "step")], [0, 1, 2])
            plain_lines = lines_of(os.path.join(place, "plain"))
            self.assertEqual({t["step"] for t in of_kind(plain_lines, "tensor")}, {0})


class Job(unittest.TestCase):
    @unittest.skipIf(program() is None, "the command line is not built")
    def test_the_first_step_in_which_ranks_differ_is_named(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            torchrun("sync_lost_later.py", folder)
            done = subprocess.run([program(), "doctor", folder, "--json"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            found = json.loads(done.stdout)["findings"]
            self.assertEqual([f["rule"] for f in found], ["missing_cp_grad_reduce"])
            self.assertEqual((found[0]["train_step"], found[0]["rank"]), (5, 1))
            self.assertIn("was not recorded", found[0]["evidence"])


if __name__ == "__main__":
    unittest.main()
