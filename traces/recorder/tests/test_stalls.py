# SPDX-License-Identifier: Apache-2.0
"""A rank that stands still writes it into its file. A job that hung and was killed is diagnosed from these files."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

from jobs import PACKAGE, program

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402

JOB = """
import sys, torch, torch.distributed as dist
import ringscope
dist.init_process_group("gloo")
with ringscope.record(sys.argv[1], steps=range(0)):
    dist.all_reduce(torch.ones(4))
    if dist.get_rank() == 0:
        dist.all_reduce(torch.ones(4))
    else:
        dist.barrier()
"""

UNEVEN = """
import sys, torch, torch.distributed as dist
import ringscope
dist.init_process_group("gloo")
with ringscope.record(sys.argv[1], steps=range(0)):
    for step in range(3 - dist.get_rank()):
        dist.all_reduce(torch.ones(4))
"""


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def eventually(met, seconds):
    end = time.monotonic() + seconds
    while not met() and time.monotonic() < end:
        time.sleep(0.05)
    return met()


class OneRank(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        store = os.path.join(self.place.name, "store")
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        self.addCleanup(ringscope.stop)
        self.folder = os.path.join(self.place.name, "run")
        self.file = os.path.join(self.folder, "rank-00000.jsonl")

    def of_kind(self, kind):
        return [line for line in lines(self.file) if line["line"] == kind]

    def test_a_standstill_outside_recorded_steps_has_its_line_and_its_end(self):
        ringscope.start(self.folder, steps=range(0), stalled_after=0.3)
        dist.all_reduce(torch.ones(2))
        self.assertTrue(eventually(lambda: len(self.of_kind("stalled")) > 1, 10))
        stalled = self.of_kind("stalled")[0]
        self.assertEqual(stalled["posted"], [{"group": "0", "nth": 1, "last": [[1, "all_reduce", 8]]}])
        self.assertEqual(stalled["at"]["file"], os.path.basename(__file__))
        self.assertEqual(self.of_kind("resumed"), [])
        dist.all_reduce(torch.ones(2))
        self.assertTrue(eventually(lambda: self.of_kind("resumed"), 10))
        self.assertGreater(self.of_kind("resumed")[0]["after_ns"], 600_000_000)

    def counts_after_a_recorded_step(self, post):
        """Posts once in a recorded step and once after it. Returns the count and the operators with a gate."""
        model = torch.nn.Linear(2, 2)
        ringscope.start(self.folder, model, stalled_after=100)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(2):
            model(torch.ones(1, 2)).sum().backward()
            post()
            optimizer.step()
        post()
        (posted,) = ringscope._current.standing.snapshot("stands")["posted"]
        return posted["nth"], ringscope._current.watch._meetings._open

    def test_methods_of_process_groups_are_counted_without_a_gate_after_recorded_steps(self):
        def post():
            dist.all_reduce(torch.ones(2))
            dist.barrier()

        self.assertEqual(self.counts_after_a_recorded_step(post), (6, []))

    def test_functional_collectives_are_counted_after_recorded_steps(self):
        def post():
            functional.wait_tensor(functional.all_reduce(torch.ones(2), "sum", dist.group.WORLD))

        count, gated = self.counts_after_a_recorded_step(post)
        self.assertEqual(count, 3)
        self.assertEqual({operator.name for operator in gated}, {"all_reduce", "wait_tensor"})

    def test_going_on_just_before_the_end_has_its_line(self):
        ringscope.start(self.folder, steps=range(0), stalled_after=0.3)
        self.assertTrue(eventually(lambda: self.of_kind("stalled"), 10))
        dist.all_reduce(torch.ones(2))
        ringscope.stop()
        self.assertEqual(len(self.of_kind("resumed")), 1)

    def test_an_error_does_not_count_as_going_on(self):
        ringscope.start(self.folder, steps=range(0), stalled_after=100)
        standing = ringscope._current.standing
        moved = standing.moved_ns
        with self.assertRaises(RuntimeError):
            standing._while_in({"operator": "barrier"}, self.fails)
        self.assertLess(moved, standing.moved_ns)
        self.assertIsNone(standing._in)
        self.assertLess(standing.moved_ns, self.failed_ns)
        ringscope.stop()
        (broken,) = self.of_kind("stalled")
        self.assertTrue(broken["broken"])
        self.assertEqual(broken["in"]["operator"], "barrier")
        self.assertEqual(broken["at"]["file"], os.path.basename(__file__))

    def fails(self):
        time.sleep(0.01)
        self.failed_ns = time.monotonic_ns()
        raise RuntimeError("timed out")

    def test_an_exit_with_success_ends_the_recording_as_finished(self):
        for code, why in ((0, "finished"), (3, "failed: exited with code 3")):
            folder = f"{self.folder}{code}"
            with self.assertRaises(SystemExit), ringscope.record(folder, steps=range(0)):
                sys.exit(code)
            self.assertEqual(lines(os.path.join(folder, "rank-00000.jsonl"))[-1]["why"], why)

    def test_an_interrupt_by_the_user_is_no_failure(self):
        with self.assertRaises(KeyboardInterrupt), ringscope.record(self.folder, steps=range(0)):
            raise KeyboardInterrupt
        self.assertEqual(lines(self.file)[-1]["why"], "interrupted")

    def test_it_can_be_left_out_and_a_wrong_time_is_refused(self):
        ringscope.start(self.folder, steps=range(0), stalled_after=0)
        ringscope.stop()
        self.assertEqual(self.of_kind("watched"), [])
        ringscope.start(self.folder + "2", stalled_after=-1)
        self.assertFalse(os.path.exists(self.folder + "2"))


@unittest.skipUnless(program(), "the command line is not built")
class Killed(unittest.TestCase):
    def test_ranks_in_different_collectives_are_found_after_they_were_killed(self):
        with tempfile.TemporaryDirectory() as place:
            job, folder = os.path.join(place, "job.py"), os.path.join(place, "run")
            with open(job, "w", encoding="utf-8") as file:
                file.write(JOB)
            ranks = self.start(job, folder)
            try:
                self.assertTrue(eventually(lambda: all(map(self.stood, (folder, folder), (0, 1))), 120))
            finally:
                for rank in ranks:
                    rank.send_signal(signal.SIGKILL)
                    rank.wait()
            done = subprocess.run([program(), "doctor", folder, "--json"], capture_output=True, text=True)
            (finding,) = [f for f in json.loads(done.stdout)["findings"] if f["rule"] == "hang"]
            self.assertEqual(finding["confidence"], "certain")
            self.assertIn("has posted barrier there", finding["evidence"])
            self.assertIn("job.py:10", finding["evidence"])

    def test_a_rank_that_had_fewer_batches_is_found_after_the_job_failed(self):
        with tempfile.TemporaryDirectory() as place:
            job, folder = os.path.join(place, "job.py"), os.path.join(place, "run")
            with open(job, "w", encoding="utf-8") as file:
                file.write(UNEVEN)
            for rank in self.start(job, folder):
                rank.wait(120)
            done = subprocess.run([program(), "doctor", folder, "--json"], capture_output=True, text=True)
            (finding,) = [f for f in json.loads(done.stdout)["findings"] if f["rule"] == "hang"]
            self.assertIn("rank 1 has ended its recording", finding["evidence"])
            self.assertIn("job.py:7", finding["evidence"])

    def start(self, job, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        settings = {**os.environ, "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1", "WORLD_SIZE": "2"}
        settings.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        return [
            subprocess.Popen([sys.executable, job, folder], env={**settings, "RANK": str(rank)})
            for rank in (0, 1)
        ]

    def stood(self, folder, rank):
        """Reports whether the rank has written that it stood still for as long as a certain hang takes."""
        path = os.path.join(folder, f"rank-{rank:05d}.jsonl")
        return os.path.exists(path) and any(line["line"] == "stalled" for line in lines(path))


if __name__ == "__main__":
    unittest.main()
