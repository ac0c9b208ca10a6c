# SPDX-License-Identifier: Apache-2.0
"""Recordings of a job that says by spmd_types what its tensors are (typed_job.py)."""

import importlib.util
import json
import os
import tempfile
import unittest

from jobs import HERE, findings, program, torchrun

_UNDECLARED = os.path.join(HERE, "undeclared.py")
_JOB = os.path.join(HERE, "typed_job.py")
_HAS_PACKAGE = importlib.util.find_spec("spmd_types") is not None


def record(folder, *case):
    """Records the job on 4 ranks and returns the lines of rank 3."""
    torchrun(_UNDECLARED, _JOB, *case, processes=4, RINGSCOPE_RECORD=folder)
    with open(os.path.join(folder, "rank-00003.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@unittest.skipIf(not _HAS_PACKAGE, "spmd_types is not installed; scripts/recorder_env installs it")
class AssertedTypes(unittest.TestCase):
    def test_types_tell_the_axis_that_cuts_the_sequence(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = record(folder)
        mesh = [line for line in lines if line["line"] == "mesh"]
        self.assertEqual([(line["axes"], line["ranks"], line["cp_axes"]) for line in mesh],
                         [(["dp", "cp"], [[0, 1], [2, 3]], ["cp"])])
        first = {line["name"]: line for line in reversed(lines) if line["line"] == "asserted"}
        self.assertEqual(first["labels"]["types"], {"dp": "V", "cp": "V"})
        self.assertEqual(first["labels"]["cut_along"], {"dp": 0, "cp": 1})
        self.assertEqual(first["labels"]["members"], {"dp": [1, 3], "cp": [2, 3]})
        self.assertEqual(first["loss"]["types"], {"dp": "P", "cp": "P"})
        self.assertEqual(first["head.weight"]["types"], {"dp": "R", "cp": "R"})

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_right_jobs_have_no_finding_and_wrong_ones_are_found(self):
        cases = {
            "": [],
            "targets_of_rank": ["mean_of_local_means"],
            "gradients_of_rank": ["missing_cp_grad_reduce"],
            "offset_of_rank": ["unknown_mistake"],
        }
        for case, expected in cases.items():
            with self.subTest(case or "right"), tempfile.TemporaryDirectory() as folder:
                lines = record(folder, case)
                self.assertEqual([line for line in lines if line["line"] == "trouble"], [])
                self.assertEqual(findings(folder), expected)


if __name__ == "__main__":
    unittest.main()
