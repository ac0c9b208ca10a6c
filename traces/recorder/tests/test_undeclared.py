# SPDX-License-Identifier: Apache-2.0
"""The doctor's findings in jobs that declare, annotate and log nothing: the cases in strangers/ and the example jobs
under context_parallel without their calls of ringscope. A few of them, or all with RINGSCOPE_JOBS=all, which
scripts/campaign undeclared_jobs sets."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from jobs import HERE, PACKAGE, findings, missing, path_of, program, table, torchrun

STRANGERS = os.path.join(HERE, "strangers")
_SAMPLE = (
    "Sums",
    "LayersInALoop",
    "PackedTokens",
    "AllHeadsAtOnce",
    "GatheredWithoutGradients",
    "AloneInAMicrobatch",
    "RestartedRotations",
    "LossTimesCp",
    "LabelsNotCut",
    "BackwardOutside",
    "MediaPositionsCutByBatch",
    "Whitened",
    "WhitenedByOwnTokens",
    "PolicyOfOwnMeans",
    "ReferenceInOrder",
    "StatedWindowLeftOut",
    "ClippedByOwnNorm",
    "LatentsRotatedByOwnTable",
    "MaskedHeadsRolled",
    "SummedEachTime",
    "PositionsOfOwnPadding",
    "MaskedDocuments",
    "ChunkedDocuments",
    "PositionsOfOwnShard",
    "OwnDocuments",
    "PackedResponses",
    "TurnAdvantages",
    "ScoredDocuments",
    "SummedInStep",
    "SplitCache",
    "SplitCacheOfMeans",
    "SplitCacheKeptTwice",
)
# Mistakes that one recorded step does not show without a word of the job. A window is only declared, and a sum is lost in
# a later step. Weights of two steps and a logged validation are needed too.
# A mask of tokens in the wrong order is no mask that the recorder knows.
_NEED_A_WORD = {
    "window_dropped",
    "sync_lost_later",
    "maximum_not_reduced",
    "validation_counts_before_cut",
    "flex_mask_not_balanced",
}
# Without a logged loss, a factor of the loss and one of backward's beginning are the same.
_SCALED = {"loss_scaled_by_cp", "grad_scaled_by_cp"}


def strangers():
    """Returns (name, processes, findings that are right, whether it fails) of each case; {None} for a right job."""
    sys.path[:0] = [STRANGERS, PACKAGE]
    try:
        import borders
        import exchanged
        import inline
        import latents
        import masked_heads
        import own_documents
        import policies
        import right
        import right_batches
        import right_losses
        import stated
        import wrong
        import wrong_losses
    finally:
        sys.path.remove(STRANGERS)
    cases = []
    modules = (right, inline, exchanged, right_batches, right_losses)
    modules += (policies, stated, latents, masked_heads, borders, own_documents, wrong, wrong_losses)
    for module in modules:
        for name, case in vars(module).items():
            if isinstance(case, type) and issubclass(case, right.Job) and case.__module__ == module.__name__:
                found = case.finding
                processes = case.ranks or 2 * case.dp
                cases.append((name, processes, set(found) if isinstance(found, tuple) else {found}, case.fails))
    return cases


def examples():
    """Returns the same of the example jobs of context_parallel. Rings of their own need annotations."""
    cases = []
    for script, processes, found in table():
        with open(path_of(script), encoding="utf-8") as file:
            text = file.read()
        if script not in _NEED_A_WORD and not re.search("hand_|ring_attention|ulysses", text) and processes < 8:
            cases.append((script, processes, _SCALED if found in _SCALED else {found}))
    return cases


def troubles(folder):
    """Returns the lines of a recording that say what the recorder could not do."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found += [line for line in file if line.startswith('{"line":"trouble"')]
    return found


class Undeclared(unittest.TestCase):
    def first_finding(self, processes, *command, fails=False):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            with self.assertRaises(AssertionError) if fails else contextlib.nullcontext():
                torchrun(*command, processes=processes, RINGSCOPE_RECORD=folder)
            if not fails:
                self.assertEqual(troubles(folder), [])
            found = findings(folder)
            return found[0] if found else None

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_strangers_jobs_have_no_finding_and_wrong_ones_their_mistake_first(self):
        every = os.environ.get("RINGSCOPE_JOBS") == "all"
        for name, processes, expected, fails in strangers():
            if every or name in _SAMPLE:
                with self.subTest(name):
                    job = os.path.join(STRANGERS, "job.py")
                    found = self.first_finding(processes, "-m", "ringscope", job, name, fails=fails)
                    self.assertIn(found, expected)

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_attention_is_judged_in_the_group_of_each_microbatch(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run")
            job = os.path.join(STRANGERS, "job.py")
            torchrun("-m", "ringscope", job, "GroupsByMicrobatch", processes=4, RINGSCOPE_RECORD=folder)
            self.assertEqual(findings(folder), [])
            done = subprocess.run([program(), "verify", folder, "--json"], capture_output=True, text=True, timeout=120)
        judged = {}
        for layer in json.loads(done.stdout)["layers"]:
            if layer["tensors"] and layer["layer"] == 0:
                judged.setdefault(layer["microbatch"], []).append(layer["ranks"])
        self.assertEqual(judged, {0: [[0, 1, 2, 3]], 1: [[0, 1], [2, 3]]})
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipIf(program() is None, "the command line is not built")
    def test_example_jobs_without_their_declarations_have_the_same_first_finding(self):
        if os.environ.get("RINGSCOPE_JOBS") != "all":
            self.skipTest("scripts/campaign undeclared_jobs runs them")
        for script, processes, expected in examples():
            with self.subTest(script, processes=processes):
                if absent := missing(script):
                    self.skipTest(f"it needs {' and '.join(sorted(absent))}")
                undeclared = os.path.join(HERE, "undeclared.py")
                self.assertIn(self.first_finding(processes, undeclared, path_of(script)), expected)


if __name__ == "__main__":
    unittest.main()
