# SPDX-License-Identifier: Apache-2.0
"""Drawn jobs (drawn/) that declare, annotate and log nothing. Correct ones have no finding of the doctor and no wrong
verdict of verify. Jobs whose labels are shifted wrongly have that mistake first. A few cases of each, or those of
RINGSCOPE_CASES=COUNT:SEED, which scripts/campaign drawn_jobs and drawn_labels set."""

import collections
import concurrent.futures
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from jobs import HERE, PACKAGE, findings, program

DRAWN = os.path.join(HERE, "drawn")
sys.path.insert(0, DRAWN)

from draw import draw, draw_labels, world_of  # noqa: E402

_MOST = 25  # cases of one start of processes


def batches(count):
    """Returns (number of processes, cases) of each start."""
    by_world = collections.defaultdict(list)
    for case in range(count):
        by_world[world_of(case)].append(case)
    for world, cases in sorted(by_world.items()):
        for first in range(0, len(cases), _MOST):
            yield world, cases[first : first + _MOST]


def run(world, folder, kind, seed, cases):
    """Runs cases one after the other in the same processes. Raises AssertionError if one fails."""
    command = [sys.executable, os.path.join(DRAWN, "job.py"), str(world), folder, kind, str(seed), *map(str, cases)]
    settings = {**os.environ, "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        raise AssertionError(done.stdout[-2000:] + done.stderr[-2000:])


def recorded(kind, seed, count):
    """Returns (folder, cases) of each start. The next start runs while its caller judges the recordings of the last."""
    with concurrent.futures.ThreadPoolExecutor(1) as runner, contextlib.ExitStack() as places:
        started = []
        for world, cases in batches(count):
            place = places.enter_context(tempfile.TemporaryDirectory())
            started.append((place, cases, runner.submit(run, world, place, kind, seed, cases)))
        for place, cases, done in started:
            done.result()
            yield place, cases
            shutil.rmtree(place)
            os.mkdir(place)


def is_wrong(folder):
    """Reports whether verify has a ✗ for a recording."""
    done = subprocess.run([program(), "verify", folder, "--json"], capture_output=True, text=True, timeout=300)
    return "nothing that can be recomputed" not in done.stderr and not json.loads(done.stdout)["right"]


@unittest.skipIf(program() is None, "the command line is not built")
class Drawn(unittest.TestCase):
    def each(self, kind, drawn_by, fewest, judge):
        """Calls judge(folder) for the recording of each case, and expects None."""
        count, seed = map(int, os.environ.get("RINGSCOPE_CASES", f"{fewest}:1").split(":"))
        accused = judged = 0
        for place, cases in recorded(kind, seed, count):
            for case in cases:
                said = judge(os.path.join(place, str(case)))
                accused += said is not None
                with self.subTest(kind, case=case, drawn=drawn_by(seed, case)):
                    self.assertIsNone(said)
            judged += len(cases)
            if count > fewest:
                print(f"{kind}: {judged} of {count} cases, {accused} not as they should be", flush=True)

    def test_correct_jobs_have_no_finding_and_no_wrong_verdict(self):
        def judge(folder):
            found = findings(folder) + (["verify"] if is_wrong(folder) else [])
            return found or None

        self.each("right", draw, 6, judge)

    def test_labels_have_no_finding_unless_they_are_shifted_wrongly(self):
        self.each("labels", draw_labels, 3, lambda folder: findings(folder) or None)
        for mistake in ("shift_labels_per_shard", "labels_shifted_twice"):

            def judge(folder, mistake=mistake):
                found = findings(folder)
                return None if found[:1] == [mistake] else found

            self.each(mistake, draw_labels, 3, judge)


if __name__ == "__main__":
    unittest.main()
