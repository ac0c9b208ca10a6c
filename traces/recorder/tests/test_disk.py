# SPDX-License-Identifier: Apache-2.0
"""Recordings that are disturbed while they are written: a full disk, a killed process. The job goes on or ends as it
would without a recorder, and everything written before can be read."""

import contextlib
import errno
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch

from jobs import EXAMPLES, PACKAGE

sys.path[:0] = [PACKAGE, EXAMPLES]

import ringscope  # noqa: E402
from ringscope import _values  # noqa: E402
from test_recording import lines_of, of_kind, step  # noqa: E402
from tiny_llama import TinyLlama  # noqa: E402

_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullFile(io.FileIO):
    """A file on a disk with limited space: it accepts what fits, then nothing."""

    room = 0

    def write(self, data):
        if self.room <= 0:
            raise _FULL
        count = super().write(bytes(data)[: self.room])
        self.room -= count
        return count


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.addCleanup(ringscope.stop)
        self.folder = os.path.join(self.place.name, "run1")
        torch.manual_seed(0)
        self.model = TinyLlama()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def losses(self, before=lambda writer: None):
        """Returns the losses of three recorded training steps, and the text on stderr."""
        ringscope.start(self.folder, self.model, None)
        before(ringscope._current.session.writer)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            losses = [step(self.model, self.optimizer) for _ in range(3)]
            ringscope.stop()
        return losses, said.getvalue()

    def plain(self):
        torch.manual_seed(0)
        model = TinyLlama()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return [step(model, optimizer) for _ in range(3)]

    def test_a_disk_that_is_full_for_lines_ends_the_file_with_its_last_whole_line(self):
        def fill(writer):
            writer._file.close()
            writer._file = FullFile(os.path.join(self.folder, "rank-00000.jsonl"), "ab")
            writer._file.room = 20_001

        losses, said = self.losses(fill)
        self.assertEqual(losses, self.plain())
        self.assertEqual(said.count("recorded no further"), 1)
        self.assertIn("No space left", said)
        lines = lines_of(self.folder)
        self.assertGreater(len(lines), 20)
        self.assertEqual(of_kind(lines, "end"), [])

    def test_a_disk_that_is_full_for_values_leaves_no_half_of_a_file(self):
        with mock.patch.object(_values.os, "fsync", side_effect=_FULL):
            losses, said = self.losses()
        self.assertEqual(losses, self.plain())
        self.assertEqual(said.count("recorded no further"), 1)
        self.assertEqual(os.listdir(self.folder), ["rank-00000.jsonl"])
        self.assertGreater(len(lines_of(self.folder)), 20)


class Forked(unittest.TestCase):
    def test_a_forked_child_writes_nothing_into_the_files_of_its_parent_and_ends(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run1")
            model = TinyLlama()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with ringscope.record(folder, model=model, steps=None):
                step(model, optimizer)
                child = os.fork()
                if child == 0:
                    code = 1
                    try:
                        with torch.no_grad():
                            model.embed_tokens(torch.tensor([1, 2]))
                        ringscope.stop("in the child")
                        code = 0
                    finally:
                        os._exit(code)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
                step(model, optimizer)
            lines = lines_of(folder)
            self.assertEqual([line["step"] for line in of_kind(lines, "step")], [0, 1])
            self.assertEqual([line["why"] for line in of_kind(lines, "end")], ["finished"])
            self.assertEqual(lines[-1]["troubles"], 0)


_KILLED = """
import os, signal, sys
import ringscope, torch
from tiny_llama import TinyLlama
from test_recording import step
model = TinyLlama()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ringscope.start(sys.argv[1], model, None)
for _ in range(2):
    step(model, optimizer)
model.layers[1].register_forward_hook(lambda *_: os.kill(os.getpid(), signal.SIGKILL))
step(model, optimizer)
"""


class Killed(unittest.TestCase):
    def test_a_process_that_is_killed_leaves_all_lines_up_to_then_and_whole_files_of_values(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run1")
            here = os.path.dirname(os.path.abspath(__file__))
            paths = os.pathsep.join((PACKAGE, EXAMPLES, here))
            environment = {**os.environ, "PYTHONPATH": paths}
            done = subprocess.run(
                [sys.executable, "-c", _KILLED, folder], env=environment, capture_output=True
            )
            self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr[-2000:])
            lines = lines_of(folder)
            self.assertEqual([line["step"] for line in of_kind(lines, "step")], [0, 1])
            self.assertEqual(of_kind(lines, "attention")[-1]["step"], 2)
            for name in os.listdir(folder):
                if name.endswith(".safetensors"):
                    with open(os.path.join(folder, name), "rb") as file:
                        size = int.from_bytes(file.read(8), "little")
                        header = json.loads(file.read(size))
                        ends = [entry["data_offsets"][1] for entry in header.values()]
                        self.assertEqual(file.seek(0, 2), 8 + size + max(ends))


if __name__ == "__main__":
    unittest.main()
