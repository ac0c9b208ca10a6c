# SPDX-License-Identifier: Apache-2.0
"""The doctor's findings in the example jobs: a few jobs, or all with RINGSCOPE_JOBS=all, which scripts/campaign jobs
sets."""

import os
import tempfile
import unittest

from jobs import EXAMPLES, VARIANTS, ask_agents_tool, findings, missing, program, table, torchrun

_SAMPLE = (
    ("autocast", 2),
    ("zigzag_ring", 2),
    ("ulysses", 2),
    ("naive_sum_merge", 2),
    ("dkv_not_returned", 2),
    ("wrong_process_group", 4),
    ("labels_shifted_twice", 2),
    ("qwen", 2),
    ("mixtral_balanced_per_rank", 2),
    ("maximum_not_reduced", 2),
    ("validation_counts_before_cut", 2),
    ("mistral_window_dropped", 2),
    ("trainer_own_loss", 2),
    ("fsdp_over_dp", 4),
    ("ddp_divides", 2),
)


class Jobs(unittest.TestCase):
    @unittest.skipIf(program() is None, "the command line is not built")
    def test_right_jobs_have_no_finding_and_wrong_ones_their_mistake_first(self):
        every = os.environ.get("RINGSCOPE_JOBS") == "all"
        jobs = [job for job in table() if every or job[:2] in _SAMPLE]
        self.assertGreaterEqual(len(jobs), len(_SAMPLE))
        for script, processes, expected in jobs:
            with self.subTest(script, processes=processes), tempfile.TemporaryDirectory() as place:
                if absent := missing(script):
                    self.skipTest(f"it needs {' and '.join(sorted(absent))}")
                folder = os.path.join(place, "run")
                torchrun(script + ".py", folder, processes=processes)
                found = findings(folder)
                self.assertEqual(found[0] if found else None, expected, found)
                self.assert_an_agent_learns(expected, ask_agents_tool(folder))
                if every:
                    print(f"{script}, {processes} processes: {', '.join(found) or 'nothing'}", flush=True)

    def assert_an_agent_learns(self, expected, answer):
        """Checks that the tool's answer alone tells the mistake, its place and what to change."""
        if expected is None:
            return self.assertRegex(answer, r"^[✓–] Nothing")
        title, place, evidence, remedy = answer.splitlines()[:4]
        self.assertTrue(title.startswith("✗ "), title)
        self.assertTrue(place.strip().startswith(expected), place)
        self.assertRegex(place, "certain|likely")
        self.assertRegex(place, r"step \d+|rank \d+")
        self.assertGreater(len(evidence.split()), 5)
        self.assertTrue(remedy.strip().startswith("What to change: "), remedy)

    def test_what_a_job_needs_is_read_from_its_imports_and_not_from_its_text(self):
        needs = set().union(*(missing(script) for script, _, _ in table()))
        self.assertLessEqual({need for need in needs if " " not in need}, {"accelerate", "transformers"})

    def test_every_job_beside_the_table_is_in_it(self):
        files = os.listdir(EXAMPLES) + os.listdir(VARIANTS)
        scripts = {name[:-3] for name in files if name.endswith(".py")}
        jobs = {name for name in scripts if not name.startswith(("check_", "hand_", "tiny_"))}
        self.assertEqual(jobs, {script for script, _, _ in table()})


if __name__ == "__main__":
    unittest.main()
