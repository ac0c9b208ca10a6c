# SPDX-License-Identifier: Apache-2.0
"""scripts/foreign_programs, without the packages of its programs and without a network."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "foreign_programs"


def load():
    loader = importlib.machinery.SourceFileLoader("foreign_programs", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


FOREIGN = load()


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=60)


class ForeignPrograms(unittest.TestCase):
    def test_lists_each_program_with_what_it_needs(self):
        done = run("--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], list(FOREIGN.PROGRAMS))

    def test_rejects_an_unknown_program(self):
        done = run("pikotron")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no program 'pikotron'", done.stderr)

    def test_skips_programs_without_sources_and_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--folder", folder, "--program", "unused", "picotron_tp", "megatron_te")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped: it is not on PyPI, and ", done.stdout)
        self.assertIn("skipped: Transformer Engine's attention needs a GPU", done.stdout)

    def test_each_program_has_a_job(self):
        for name, program in FOREIGN.PROGRAMS.items():
            self.assertTrue(program.skip or (FOREIGN.JOBS / f"{program.job}.py").exists(), name)

    def test_findings_and_wrong_verdicts_count_against_a_program(self):
        right = FOREIGN.Program("job")
        self.assertTrue(FOREIGN.Outcome(findings=("mask_dropped (certain)",)).is_wrong(right))
        self.assertTrue(FOREIGN.Outcome(verdict="✗").is_wrong(right))
        self.assertTrue(FOREIGN.Outcome(failed="it ended with 1").is_wrong(right))
        self.assertFalse(FOREIGN.Outcome(verdict="✓").is_wrong(right))
        self.assertFalse(FOREIGN.Outcome(skipped="no package").is_wrong(right))

    def test_a_program_that_makes_a_mistake_must_be_found(self):
        wrong = FOREIGN.Program("job", wrong=True)
        self.assertFalse(FOREIGN.Outcome(findings=("mask_dropped (certain)",)).is_wrong(wrong))
        self.assertTrue(FOREIGN.Outcome(verdict="✓").is_wrong(wrong))
        self.assertFalse(FOREIGN.Outcome(skipped="no package").is_wrong(wrong))

    def test_megatrons_helpers_are_recorded_and_wrong_uses_of_them_named(self):
        packages = SCRIPT.parent.parent / "runs" / "foreign" / "packages" / "megatron"
        if not packages.is_dir() or not FOREIGN.built():
            self.skipTest("scripts/foreign_programs megatron fetches Megatron-LM, and the command line must be built")
        done = subprocess.run([sys.executable, SCRIPT, "megatron", "megatron_packed", "megatron_packed_labels",
                               "megatron_packed_mask", "megatron_packed_rotary"],
                              capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
        for name in ("megatron", "megatron_packed"):
            self.assertIn("| none | ✓", rows[name])
        for name, rule in (("labels", "balance_differs_between_buffers"), ("mask", "documents_ignored"),
                           ("rotary", "missing_position_ids")):
            self.assertIn(rule, rows[f"megatron_packed_{name}"])

    def test_a_verdict_needs_something_that_was_compared(self):
        self.assertEqual(FOREIGN.verdict_of({}), "?")
        self.assertEqual(FOREIGN.verdict_of({"compared": 0, "right": True}), "?")
        self.assertEqual(FOREIGN.verdict_of({"compared": 2, "right": True}), "✓")
        self.assertEqual(FOREIGN.verdict_of({"compared": 2, "right": False}), "✗")

    def test_attention_is_known_from_the_recorded_lines(self):
        for lines, shown in (
            ([{"line": "loss"}], "none"),
            ([{"line": "hop"}, {"line": "block"}], "ring"),
            ([{"line": "attention_end", "strategy": "ulysses"}], "all-to-all"),
            ([{"line": "attention_end", "strategy": "all_gather"}], "all-gather"),
        ):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "rank-00000.jsonl")
                with open(file, "w", encoding="utf-8") as out:
                    out.writelines(json.dumps(line) + "\n" for line in lines)
                self.assertEqual(FOREIGN.attention_in(pathlib.Path(folder)), shown)


if __name__ == "__main__":
    unittest.main()
