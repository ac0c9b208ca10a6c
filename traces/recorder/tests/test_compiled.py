# SPDX-License-Identifier: Apache-2.0
"""Recordings of models that torch.compile has compiled. Needs a C++ compiler, which Inductor calls."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch

from jobs import HERE, PACKAGE, findings, program, torch_version, torchrun
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402

JOB = os.path.join(HERE, "compiled_job.py")


@unittest.skipIf(shutil.which("g++") is None, "there is no g++ for Inductor")
@unittest.skipIf(torch_version() < (2, 11), "PyTorch's ring is not compiled before 2.11")
class Compiled(unittest.TestCase):
    """One graph for each layer: neither the job's graphs nor its values may change."""

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder, cls.result = (os.path.join(place.name, name) for name in ("run", "result"))
        torchrun(JOB, "-", RESULT=cls.result + ".plain")
        torchrun(JOB, cls.folder, RESULT=cls.result)
        cls.lines = lines_of(cls.folder)

    def test_computes_the_same_bits_with_the_same_graphs(self):
        for rank in (0, 1):
            plain = torch.load(f"{self.result}.plain.{rank}")
            recorded = torch.load(f"{self.result}.{rank}")
            self.assertEqual(list(plain), list(recorded))
            for name, value in plain.items():
                same = torch.equal(value, recorded[name]) if isinstance(value, torch.Tensor) else value == recorded[name]
                self.assertTrue(same, name)

    def test_records_the_ring_as_without_compilation(self):
        self.assertEqual(of_kind(self.lines, "trouble"), [])
        attention = of_kind(self.lines, "attention")
        places = [(line["direction"], line["step"], line["layer"]) for line in attention]
        order = [("forward", 0), ("forward", 1), ("backward", 1), ("backward", 0)]
        self.assertEqual(places, [(direction, step, layer) for step in (0, 1) for direction, layer in order])
        rows = [(b["q_rows"], b["k_rows"]) for b in of_kind(self.lines, "block") if b["call"] == attention[0]["call"]]
        self.assertEqual(rows, [([0, 32], [0, 32]), ([16, 32], [0, 32])])
        hops = [hop for hop in of_kind(self.lines, "hop") if hop["direction"] == "forward"]
        self.assertEqual([hop["moved"] for hop in hops], [True] * 4)
        self.assertEqual(len(of_kind(self.lines, "attention_end")), 8)

    def test_says_what_is_compiled(self):
        said = [line["why"] for line in of_kind(self.lines, "limit")]
        self.assertEqual([why.partition(" is compiled")[0] for why in said], ["Layer.forward", "sum_of_losses"])

    def test_records_the_loss(self):
        for line, mean in zip(of_kind(self.lines, "loss"), torch.load(f"{self.result}.0")["losses"]):
            self.assertEqual((line["targets"], line["reduction"], line["grad"]), (32, "sum", True))
            self.assertEqual(line["target_buffer"], "labels")
            whole = sum(loss["sum"] for loss in of_kind(lines_of(self.folder, 1), "loss") if loss["step"] == line["step"])
            self.assertAlmostEqual((line["sum"] + whole) / 64, mean, places=5)

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_nothing_is_found(self):
        self.assertEqual(findings(self.folder), [])
        done = subprocess.run([program(), "verify", self.folder, "--json"], capture_output=True, text=True, timeout=120)
        answer = json.loads(done.stdout)
        self.assertTrue(answer["right"] and answer["compared"], done.stdout)


class Options(unittest.TestCase):
    def setUp(self):
        self.addCleanup(torch._dynamo.reset)  # later tests find no compiled code

    def test_options_of_the_job_work_and_are_restored(self):
        from torch._inductor import config

        with tempfile.TemporaryDirectory() as place:
            with ringscope.record(os.path.join(place, "run"), model=torch.nn.Linear(2, 2)):
                compiled = torch.compile(lambda x: x + 1, options={"max_autotune": False})
                self.assertIsNotNone(config.joint_custom_pre_pass)
            self.assertIsNone(config.joint_custom_pre_pass)
            self.assertIsNone(config.post_grad_custom_post_pass)
        self.assertTrue(callable(compiled))

    def test_an_error_in_a_graph_pass_does_not_reach_the_job(self):
        def loss(logits, labels):
            return torch.nn.functional.cross_entropy(logits, labels)

        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            with mock.patch("ringscope._inductor._note_tensors", side_effect=ValueError("no graph")) as broken:
                broken.__name__ = "_note_tensors"
                with ringscope.record(folder, model=torch.nn.Linear(2, 2)):
                    compiled = torch.compile(loss, fullgraph=True)
                    logits, labels = torch.randn(4, 8, requires_grad=True), torch.arange(4)
                    self.assertAlmostEqual(compiled(logits, labels).item(), loss(logits, labels).item(), places=5)
            said = [line["why"] for line in of_kind(lines_of(folder), "limit")]
        self.assertIn("losses in compiled code are not observed: ValueError: no graph", said)


if __name__ == "__main__":
    unittest.main()
