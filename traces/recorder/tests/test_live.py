# SPDX-License-Identifier: Apache-2.0
"""A job of two processes that `ringscope listen` follows while it runs, and listeners that are slow, are killed or
refuse it."""

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import torch

from jobs import PACKAGE, program

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402

JOB = """
import os, sys, time
import torch, torch.distributed as dist
import ringscope
def load():
    time.sleep(float(os.environ.get("LATE_S", "0")))
def main():
    dist.init_process_group("gloo")
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ringscope.record(sys.argv[1], model=model, steps=range(1)):
        for step in range(4):
            model(torch.ones(2, 4)).sum().backward()
            if step == 2 and dist.get_rank() == 1:
                if os.environ.get("KILLED"):
                    os.kill(os.getpid(), 9)
                load()
            dist.all_reduce(model.weight.grad)
            optimizer.step()
            optimizer.zero_grad()
main()
"""


@unittest.skipUnless(program(), "the command line is not built")
class Followed(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.job = self.path("job.py")
        with open(self.job, "w", encoding="utf-8") as file:
            file.write(JOB)

    def path(self, name):
        return os.path.join(self.place.name, name)

    def listen(self, address, *options):
        command = [program(), "listen", address, "-o", self.path("heard"), "--json", *options]
        listener = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.addCleanup(listener.stdout.close)
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        return listener, json.loads(listener.stdout.readline())

    def run_job(self, address, **environment):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node", "2", self.job, self.path("own")]
        settings = {**os.environ, "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"}
        settings.update(RINGSCOPE_LIVE=address, **environment)
        return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=200)

    def same_lines(self):
        for rank in (0, 1):
            name = f"rank-{rank:05d}.jsonl"
            with open(self.path(f"own/{name}"), "rb") as own:
                with open(self.path(f"heard/{name}"), "rb") as heard:
                    self.assertEqual(own.read(), heard.read())

    def test_what_is_heard_is_the_recording_and_a_rank_that_is_late_is_named(self):
        listener, said = self.listen(self.path("s"), "--after", "1.5")
        done = self.run_job(said["address"], LATE_S="6")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        events = [json.loads(line) for line in listener.stdout]
        self.assertEqual(listener.wait(), 0)
        waits = [event["lines"] for event in events if event["event"] == "waits"]
        self.assertIn("rank 0 has waited in all_reduce 3 of ranks 0 and 1 (64 B)", waits[0][0])
        self.assertIn("rank 1 has not come there", waits[0][0])
        self.assertIn("at job.py:6 (load), in training step 2", waits[0][1])
        self.assertEqual([event["event"] for event in events][-2:], ["goes on", "ended"])
        self.same_lines()

    def test_over_tcp_the_token_is_needed_and_a_job_without_it_runs_all_the_same(self):
        listener, said = self.listen("127.0.0.1:0")
        done = self.run_job(said["address"], RINGSCOPE_TOKEN="wrong")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn("the token is wrong", done.stderr)
        os.rename(self.path("own"), self.path("first"))
        done = self.run_job(said["address"], RINGSCOPE_TOKEN=said["token"])
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual(listener.wait(60), 0)
        self.same_lines()

    def test_a_killed_rank_is_told_of_and_what_came_before_is_kept(self):
        listener, said = self.listen(self.path("s"))
        self.assertNotEqual(self.run_job(said["address"], KILLED="1").returncode, 0)
        self.assertEqual(listener.wait(60), 3)
        done = subprocess.run([program(), "info", self.path("heard")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class OneProcess(unittest.TestCase):
    """Tests with a socket of the test as the listener."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.addCleanup(ringscope.stop)
        self.address = os.path.join(self.place.name, "s")
        self.model = torch.nn.Linear(8, 8)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def record(self, **options):
        folder = os.path.join(self.place.name, "run")
        return ringscope.record(folder, model=self.model, steps=None, live=self.address, **options)

    def step(self):
        self.model(torch.ones(2, 8)).sum().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def accept(self):
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(self.address)
        server.listen(1)
        return server

    def welcome(self, server):
        connection, _ = server.accept()
        self.addCleanup(connection.close)
        lines = connection.makefile("r")
        self.addCleanup(lines.close)
        lines.readline()
        connection.sendall(b'{"line":"welcome"}\n')
        return connection, lines

    def heard(self, lines, kind):
        for text in lines:
            line = json.loads(text)
            if line["line"] == kind:
                return line
        return None

    def test_nobody_listens_and_nothing_waits(self):
        begin = time.monotonic()
        with self.record():
            self.step()
        self.assertLess(time.monotonic() - begin, 5)

    def test_a_listener_that_never_reads_does_not_hold_the_job(self):
        server = self.accept()
        with self.record():
            connection, _ = self.welcome(server)
            begin = time.monotonic()
            for _ in range(200):
                self.step()
            took = time.monotonic() - begin
        self.assertLess(took, 60)
        self.assertLess(time.monotonic() - begin - took, 1)
        connection.close()

    def test_it_is_held_at_a_step_border_and_goes_on_when_the_listener_is_gone(self):
        server = self.accept()
        steps = []

        def train():
            for number in range(100_000):
                self.step()
                steps.append(number)
                if done.is_set():
                    return
                time.sleep(0.01)

        done = threading.Event()
        with self.record(pause=True):
            connection, lines = self.welcome(server)
            worker = threading.Thread(target=train)
            worker.start()
            connection.sendall(b'{"line":"hold"}\n')
            held = self.heard(lines, "held")["step"]
            connection.sendall(b'{"line":"pause","step":%d}\n' % (held + 2))
            self.assertEqual(self.heard(lines, "paused")["step"], held + 2)
            stood = len(steps)
            time.sleep(0.5)
            self.assertEqual(len(steps), stood)
            connection.shutdown(socket.SHUT_RDWR)
            deadline = time.monotonic() + 5
            while len(steps) == stood and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertGreater(len(steps), stood)
            done.set()
            worker.join()

    def test_an_address_of_another_machine_is_refused_before_anything_is_written(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            ringscope.start(os.path.join(self.place.name, "x"), live="example.org:4711")
        self.assertIn("ssh -R", said.getvalue())
        self.assertFalse(os.path.exists(os.path.join(self.place.name, "x")))

    def test_nothing_is_left_wrapped(self):
        import torch.distributed as dist

        before = (dist.ProcessGroup.allreduce, dist.distributed_c10d.Work.wait)
        with self.record():
            self.step()
        self.assertEqual((dist.ProcessGroup.allreduce, dist.distributed_c10d.Work.wait), before)


if __name__ == "__main__":
    unittest.main()
