# SPDX-License-Identifier: Apache-2.0
"""check_merge: random right merges are right, random mistakes are named, and shapes are refused with a sentence.

Draws some cases, or those of RINGSCOPE_CASES=COUNT:SEED, which scripts/campaign check_merge sets."""

import collections
import contextlib
import dataclasses
import inspect
import io
import math
import os
import re
import subprocess
import sys
import unittest

import torch
from jobs import EXAMPLES, PACKAGE, ROOT

sys.path.insert(0, PACKAGE)

from drawn_merges import MISTAKES, TYPES  # noqa: E402
from wrong_merges import arguments, draw_right, draw_wrong  # noqa: E402

from ringscope import MergeCheck, MergeKind, check_merge, simulate  # noqa: E402

_NAMED = 0.99  # the least part of wrong merges whose mistake is named
_FEW = 12 * len(MISTAKES)


def small(ranks=3, tokens=4, heads=2, features=8):
    """Returns partials, lses, and their merge."""
    torch.manual_seed(1)
    partials, lses = torch.randn(ranks, tokens, heads, features), torch.randn(ranks, tokens, heads)
    out = (torch.softmax(lses, 0).unsqueeze(-1) * partials).sum(0)
    return partials, lses, out, torch.logsumexp(lses, 0)


class DrawnMerges(unittest.TestCase):
    def setUp(self):
        self.count, self.seed = map(int, os.environ.get("RINGSCOPE_CASES", f"{_FEW}:1").split(":"))
        self.threads = torch.get_num_threads()
        torch.set_num_threads(1)  # the tensors are small

    def tearDown(self):
        torch.set_num_threads(self.threads)

    def test_right_merges_are_right(self):
        types = collections.Counter()
        for number in range(self.count):
            case = draw_right(self.seed, number)
            tensors, options = arguments(case)
            result = check_merge(*tensors, **options)
            self.assertTrue(result.right, f"case {number} of seed {self.seed}, {case}: {result}")
            self.assertLessEqual(result.factor, 1)
            types[case.type] += 1
        self.assertEqual(set(types), set(TYPES))
        print(f"right merges: no false alarm in {self.count}", flush=True)

    def test_mistakes_are_named(self):
        missed, drawn = [], collections.Counter()
        for number in range(self.count):
            case = draw_wrong(self.seed, number)
            tensors, options = arguments(case)
            result = check_merge(*tensors, **options)
            drawn[case.mistake] += 1
            if result.kind.name != case.mistake or case.partial not in (None, result.partial):
                missed.append(f"case {number}, {case}: {result}")
        self.assertEqual(set(drawn), set(MISTAKES))
        print(f"mistakes: {self.count - len(missed)} of {self.count} named", *missed[:20], sep="\n  ", flush=True)
        self.assertGreaterEqual(self.count - len(missed), math.ceil(_NAMED * self.count))


class Merges(unittest.TestCase):
    def kind(self, *tensors, **options):
        return check_merge(*tensors, **options).kind

    def test_every_kind_is_drawn_or_tested_here(self):
        here = {"NONE", "UNKNOWN", "INPUT_NOT_FINITE"}
        self.assertEqual(here | set(MISTAKES), {kind.name for kind in MergeKind})

    def test_an_overflow_is_named_in_the_base_that_it_shows(self):
        tensors, options = arguments(draw_wrong(1, 5979, "MAX_NOT_SUBTRACTED"))
        result = check_merge(*tensors, **options)
        self.assertEqual((result.kind, result.base), (MergeKind.MAX_NOT_SUBTRACTED, 2))

    def test_a_wrong_row_is_named_with_token_head_and_partial(self):
        partials, lses, out, lse = small()
        weights = torch.softmax(lses[1:, 2, 1], 0)
        out[2, 1] = (weights.unsqueeze(-1) * partials[1:, 2, 1]).sum(0)
        result = check_merge(partials, lses, out, lse)
        self.assertEqual((result.kind, result.partial, result.where), (MergeKind.LEFT_OUT, 0, (2, 1)))
        self.assertEqual((result.wrong_rows, result.rows, result.tensor), (1, 8, "out"))
        self.assertGreater(result.factor, 1)
        self.assertIn("LEFT_OUT", str(result))

    def test_nan_of_partials_without_keys_explains_only_rows_that_are_nan(self):
        partials, lses, out, lse = small()
        lses[1, 0, 0] = -math.inf
        out[0, 0] = math.nan
        out[2, 1] = torch.sin(out[2, 1] * 9)
        self.assertIs(self.kind(partials, lses, out), MergeKind.UNKNOWN)

    def test_lses_that_were_rounded_to_be_sent_are_named(self):
        partials, lses, _, _ = small()
        out = (torch.softmax(lses.bfloat16().float(), 0).unsqueeze(-1) * partials).sum(0)
        result = check_merge(partials, lses, out, base="e")
        self.assertEqual((result.kind, result.detail), (MergeKind.INPUTS_ROUNDED, "the lses to bfloat16"))

    def test_an_lse_of_0_beside_an_output_of_0_is_mentioned(self):
        partials, lses, _, _ = small()
        lses[1, 2], partials[1, 2] = 0.0, 0.0
        out = (torch.softmax(lses, 0).unsqueeze(-1) * partials).sum(0)
        result = check_merge(partials, lses, out, base="e")
        self.assertTrue(result)
        self.assertIn("in 2 rows the output of partial 1 is 0 with an lse of 0", str(result))

    def test_an_unlike_output_has_an_unknown_mistake(self):
        partials, lses, out, lse = small()
        result = check_merge(partials, lses, torch.sin(out * 9), lse)
        self.assertIs(result.kind, MergeKind.UNKNOWN)
        self.assertFalse(result)

    def test_a_partial_that_is_not_finite_is_named(self):
        partials, lses, out, lse = small()
        partials[1, 0, 0, 0] = math.nan
        out[0, 0, 0] = math.nan
        result = check_merge(partials, lses, out, lse)
        self.assertEqual((result.kind, result.partial), (MergeKind.INPUT_NOT_FINITE, 1))

    def test_loss_is_that_of_the_narrow_type(self):
        partials, lses, out, lse = small()
        result = check_merge(partials, lses, out.bfloat16(), lse, base="e")
        self.assertEqual(result.type_loss, 2**-8)
        self.assertTrue(0 < result.loss <= 2**-8)

    def test_no_values_make_it_raise(self):
        partials, lses, out, lse = small()
        self.assertIs(self.kind(partials, lses, out * math.nan), MergeKind.UNKNOWN)
        self.assertIs(self.kind(partials, lses * math.nan, out * math.nan, lse), MergeKind.INPUT_NOT_FINITE)
        self.assertFalse(check_merge(partials, lses * 1e30, out * math.inf, lse * 1e38))
        empty = torch.full_like(lses, -math.inf)
        self.assertTrue(check_merge(partials, empty, out * 0, empty[0]))
        self.assertTrue(check_merge(partials[:, :0], lses[:, :0], out[:0], lse[:0]))
        self.assertTrue(check_merge(partials[:1], lses[:1], partials[0], lses[0]))

    def test_the_base_is_found_and_checked(self):
        partials, lses, out, lse = small()
        self.assertEqual(check_merge(partials, lses, out, lse).base, "e")
        self.assertEqual(check_merge(partials, lses / math.log(2), out, lse / math.log(2)).base, 2)
        self.assertIs(self.kind(partials, lses, out, lse, base=2), MergeKind.WRONG_BASE)
        self.assertIs(self.kind(partials, lses, out, lse / math.log(2)), MergeKind.BASE_MIXED)
        self.assertTrue(check_merge(partials, lses, out, lse / math.log(2), base="e", lse_base=2))
        alike = check_merge(partials, torch.zeros_like(lses), partials.mean(0))
        self.assertTrue(alike)
        self.assertIsNone(alike.base)

    def test_shapes_of_serving_engines_are_accepted(self):
        partials, lses, out, lse = small()
        self.assertTrue(check_merge(partials, lses.transpose(1, 2), out, lse.T))  # vLLM: lse [heads, tokens]
        self.assertTrue(check_merge(partials.movedim(0, 1), lses.movedim(0, 1), out, states_dim=1))  # merge_states
        self.assertTrue(check_merge(partials.movedim(0, 2), lses.movedim(0, 2), out, states_dim=2))  # [B, H, R, D]
        batch = [tensor.unsqueeze(1) for tensor in (partials, lses.transpose(1, 2))]
        self.assertTrue(check_merge(*batch, out.unsqueeze(0), lse.T.unsqueeze(0)))  # [B, S, H, D] and [B, H, S]
        heads_first = partials.transpose(1, 2), lses.transpose(1, 2), out.transpose(0, 1), lse.T
        self.assertTrue(check_merge(*heads_first, heads_dim=0))

    def test_a_square_lse_is_tried_in_both_layouts_unless_it_is_stated(self):
        partials, lses, out, lse = small(tokens=4, heads=4)
        turned = partials, lses.transpose(1, 2), out, lse.T
        self.assertTrue(check_merge(*turned))
        self.assertFalse(check_merge(*turned, lse_layout="like_out"))
        self.assertTrue(check_merge(*turned, lse_layout="heads_first"))

    def test_wrong_shapes_and_options_are_refused_with_what_to_pass(self):
        partials, lses, out, lse = small()
        for tensors, options, said in (
            ((partials[:, 1:], lses, out, lse), {}, "pass partials as"),
            ((partials, lses[:2], out, lse), {}, "one lse per partial"),
            ((partials, lses, out, lse[1:]), {}, "pass lse as"),
            ((partials, lses, out, "x"), {}, "pass a torch tensor"),
            ((list(partials[:1]) + [partials[0, 1:]], lses, out, lse), {}, "of one shape"),
            (([], lses, out, lse), {}, "one tensor per partial"),
            ((partials[..., :0], lses, out[..., :0], lse), {}, "pass floating point"),
            ((partials, lses, out, lse.long()), {}, "lse is torch.int64"),
            ((partials, lses, out, lse), {"base": 10}, "pass 'e'"),
            ((partials, lses, out, lse), {"sinks_in": -1}, "pass 0"),
            ((partials, lses, out, lse), {"sinks": torch.zeros(5)}, "one logit per head"),
            ((partials, lses, out, lse), {"out_type": "int8"}, "pass for instance"),
            ((partials, lses, out, lse), {"lse_layout": "rows"}, "pass 'like_out'"),
            ((partials, lses, out, lse), {"heads_dim": 7}, "heads_dim=7"),
            ((partials, lses, out, lse), {"states_dim": 9}, "states_dim=9"),
        ):
            with self.subTest(said), self.assertRaises(ValueError) as raised:
                check_merge(*tensors, **options)
            self.assertIn(said, str(raised.exception))

    def test_the_tensors_are_left_as_they_are(self):
        tensors = small()
        before = [tensor.clone() for tensor in tensors]
        check_merge(*tensors)
        check_merge(tensors[0], tensors[1], tensors[0].sum(0), tensors[3])
        for tensor, old in zip(tensors, before):
            self.assertTrue(torch.equal(tensor, old))

    def test_the_blocks_of_the_guide_run_one_after_the_other(self):
        with open(os.path.join(ROOT, "docs", "how-to", "check-a-merge.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 4)
        names, said = {}, io.StringIO()
        with contextlib.redirect_stdout(said):
            for block in blocks:
                exec(compile(block, "check-a-merge.md", "exec"), names)
            names["test_my_merge"](check_merge)
        self.assertIs(names["result"].kind, MergeKind.WRONG_BASE)
        self.assertRegex(said.getvalue(), r"(?s)^WRONG_BASE: .*\nright: 4 ranks, head_tail, causal; 16 blocks")

    def test_every_kind_and_option_is_documented(self):
        documented = ""
        for page in ("how-to/check-a-merge.md", "reference/recorder.md"):
            with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as file:
                documented += file.read()
        names = {kind.name for kind in MergeKind} - {"NONE"}
        names |= {*inspect.signature(check_merge).parameters, *inspect.signature(simulate).parameters}
        fields = {field.name for field in dataclasses.fields(MergeCheck)} - {"detail", "type_name"}
        missing = [name for name in names | fields if not re.search(rf"\b{name}\b", documented)]
        self.assertEqual(missing, [])

    def test_the_example_names_its_three_mistakes(self):
        script = os.path.join(EXAMPLES, "check_merge.py")
        settings = {**os.environ, "PYTHONPATH": PACKAGE}
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=settings, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        for line, kind in zip(lines, ("right", "WRONG_BASE", "NEUTRAL_NAN", "SINKS_REPEATED", "right"), strict=True):
            self.assertIn(kind, line)


if __name__ == "__main__":
    unittest.main()
