# SPDX-License-Identifier: Apache-2.0
"""No call and no hook of the recorder raises, whatever it is given, and every orderly exit is an orderly end."""

import os
import subprocess
import sys
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn

from jobs import PACKAGE
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402


def released(*shape):
    tensor = torch.ones(shape)
    tensor.untyped_storage().resize_(0)
    return tensor


class Unprintable(Exception):
    def __str__(self):
        raise ValueError


def odd_values():
    """Returns values that a job may pass by mistake or when its numbers have become useless."""
    shape = (1, 2, 8, 4)
    return {
        "nan": torch.full(shape, float("nan")),
        "infinite": torch.full(shape, float("-inf")),
        "huge": torch.full(shape, 3e38),
        "huge integers": torch.full((1, 8), 2**63 - 1),
        "empty": torch.empty(0),
        "no rows": torch.empty(1, 2, 0, 4),
        "scalar": torch.tensor(1.0),
        "meta": torch.empty(shape, device="meta"),
        "released": released(1, 2, 8, 4),
        "released scalar": released(),
        "sparse": torch.eye(4).to_sparse(),
        "bool": torch.ones(shape, dtype=torch.bool),
        "complex": torch.ones(shape, dtype=torch.complex64),
        "quantized": torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8),
        "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "array": torch.ones(4).numpy(),
        "text": "text",
        "number": 10**400,
        "nothing": None,
        "list": [1, [2]],
        "class": dict,
        "error": Unprintable(),
    }


class Calls(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.addCleanup(ringscope.stop)
        self.folder = os.path.join(self.place.name, "run")

    def give(self, value):
        """Passes a value to each argument of each public call."""
        good = torch.ones(1, 2, 8, 4)
        ringscope.log(loss=value)
        ringscope.log(value)
        for keys in ({"tokens": value}, {"seq_dim": value}, {"length": value}, {"group": value}, {"whole": value}):
            keys.setdefault("tokens", range(2))
            self.assertIs(ringscope.buffer(good, "labels", **keys), good)
        self.assertIs(ringscope.buffer(value, "labels", tokens=range(2)), value)
        self.assertIs(ringscope.buffer(tensor=good, name=value), good)
        self.assertIs(ringscope.buffer(good, unknown=value), good)
        for name in ("q", "k", "v", "causal", "scale", "group", "layout", "layer", "unknown"):
            ringscope.attention(**{"q": good, "k": good, "v": good, "causal": True, name: value})
            for at in ("step", "source", "k", "v", "out", "lse", "running_lse", "q_rows", "k_rows", "causal"):
                ringscope.block(**{"step": 0, "source": 0, "k": good, "v": good, at: value})
            ringscope.attention(out=value, lse=value)
            ringscope.attention(good, good, good, dout=value)
            ringscope.attention(dq=value, dk=value, dv=good)

    def test_no_value_raises_with_or_without_a_recording(self):
        for name, value in odd_values().items():
            with self.subTest(name):
                self.give(value)
                with ringscope.record(os.path.join(self.place.name, name), stalled_after=0):
                    self.give(value)
                self.assertEqual(lines_of(os.path.join(self.place.name, name))[-1]["why"], "finished")

    def test_no_option_raises(self):
        for at, value in enumerate(odd_values().values()):
            names = ("model", "steps", "values", "budget_bytes", "declare", "unknown")
            for name in (names[at % 6], names[(at + 1) % 6]):
                ringscope.start(f"{self.folder}{at}{name}", **{"stalled_after": 0, name: value})
                F.relu(torch.ones(2))
                ringscope.stop(value)
            ringscope.start(self.folder + value if isinstance(value, str) else value, stalled_after=0)
            ringscope.stop()

    def test_a_call_within_a_recording_leaves_the_first_one(self):
        with ringscope.record(self.folder):
            first = ringscope._current
            ringscope.start(self.folder + "2")
            self.assertIs(ringscope._current, first)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(16, 8), nn.Linear(8, 16)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(2))

    def forward(self, ids, position_ids=None):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
            q = x[:, None]
            x = F.scaled_dot_product_attention(q, q, q, is_causal=True)[:, 0]
        return self.head(x)


def train():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        ids = torch.arange(8)[None]
        loss = F.cross_entropy(model(ids, position_ids=ids)[0], ids[0])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


class Faults(unittest.TestCase):
    def test_a_fault_in_any_part_of_the_recorder_stays_in_it(self):
        expected = train()
        parts = (
            "_session.Session.record",
            "_session.Session.place",
            "_session.Session.captures",
            "_session.digests",
            "_memory.MemoryObserver.sample",
            "_writer.RankWriter.line",
            "_layers.Layers.find",
            "_layers.Layers.enter",
            "_layers.Layers.leave",
            "_layers.Layers.restart",
            "_model._given",
            "_model.compiled_within",
            "_model.ModelObserver.describe",
            "_training.OptimizerObserver._record",
            "_training.OptimizerObserver.know",
            "_training.part_of",
            "_operators.Operator.given",
            "_operators.Operator.lse_of",
            "_values.ValueFiles.flush",
        )
        for part in parts:
            with self.subTest(part), tempfile.TemporaryDirectory() as place:
                with ringscope.record(os.path.join(place, "run"), steps=None, stalled_after=0):
                    with mock.patch("ringscope." + part, side_effect=Unprintable()):
                        self.assertEqual(train(), expected)

    def test_a_fault_is_written_once_for_each_kind(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            with ringscope.record(folder, steps=None, stalled_after=0):
                with mock.patch("ringscope._operators.Operator.given", side_effect=ValueError("no arguments")):
                    train()
            lines = lines_of(folder)
        written = [(line["where"], line["error"]) for line in of_kind(lines, "trouble")]
        self.assertEqual(written, [("seen", "ValueError: no arguments")])
        self.assertGreater(lines[-1]["troubles"], 4)


class Exits(unittest.TestCase):
    def ends(self, script, by="ringscope.start(folder)"):
        """Returns the end of a program that is recorded by a line of its own, or by the command line if `by` is empty."""
        with tempfile.TemporaryDirectory() as place:
            path, folder = os.path.join(place, "job.py"), os.path.join(place, "run")
            head = f"import sys, threading, ringscope\nfolder = {folder!r}\n{by}\n"
            with open(path, "w", encoding="utf-8") as file:
                file.write(head + script)
            command = [sys.executable, *([] if by else ["-m", "ringscope"]), path]
            settings = {**os.environ, "PYTHONPATH": PACKAGE, "RINGSCOPE_RECORD": folder}
            ran = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=300)
            self.said = ran.stderr
            return lines_of(folder)[-1]["why"]

    def test_a_variable_named_like_q_may_become_anything(self):
        with tempfile.TemporaryDirectory() as folder:
            with ringscope.record(folder, model=nn.Linear(1, 1)):
                recognition = ringscope._current.watch.collectives.recognition
                q, call = torch.ones(1, 2, 8, 4), object()
                variables = {"q": q.numpy() + 1}
                frame = SimpleNamespace(frame=SimpleNamespace(f_locals=variables), names=("q",), q=q)
                recognition._computed = call, frame
                self.assertFalse(recognition._is_past(call))
                variables["q"] = q + 1
                self.assertTrue(recognition._is_past(call))
            self.assertEqual(len(of_kind(lines_of(folder), "trouble")), 1)

    def test_every_orderly_exit_is_an_orderly_end(self):
        self.assertEqual(self.ends("pass"), "finished")
        self.assertEqual(self.ends("def main():\n    return 0\nsys.exit(main())", by=""), "finished")
        self.assertEqual(self.ends("raise SystemExit"), "finished")
        thread = "t = threading.Thread(target=lambda: 1 / 0, daemon=True)\nt.start()\nt.join()"
        self.assertEqual(self.ends(thread), "finished")

    def test_an_exit_with_a_code_is_stated_with_it(self):
        self.assertEqual(self.ends("sys.exit(3)"), "failed: exited with code 3")
        self.assertEqual(self.ends("sys.exit('no data')", by=""), "failed: exited with code 1: no data")

    @unittest.skipIf(sys.version_info < (3, 11), "exceptions have no notes before Python 3.11")
    def test_a_ring_without_a_cpu_operator_says_what_adds_it(self):
        script = "raise NotImplementedError('no strategy for _scaled_dot_product_flash_attention_for_cpu')"
        self.assertIn("NotImplementedError: no strategy", self.ends(script, by=""))
        self.assertIn("call ringscope.cpu_context_parallel() once", self.said)

    def test_an_error_and_an_interrupt_are_told_apart(self):
        self.assertEqual(self.ends("raise ValueError('bad')"), "failed: ValueError: bad")
        self.assertEqual(self.ends("raise KeyboardInterrupt"), "interrupted")


if __name__ == "__main__":
    unittest.main()
