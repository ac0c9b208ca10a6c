# SPDX-License-Identifier: Apache-2.0
"""simulate: right attention is right under every plan, and wrong attention is placed by rank, step and token. Also the
pytest plugin."""

import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

import torch
from jobs import PACKAGE, ROOT

sys.path.insert(0, PACKAGE)

from ringscope import MergeKind, simulate  # noqa: E402
from ringscope._simulation_plan import BALANCES, MASKS, owned_tokens  # noqa: E402


def attend(q, k, v, mask):
    """Attention as flash kernels compute it: scores and sums in float32, weights in the type of v."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = torch.einsum("shd,thd->hst", q.float(), k.float()) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~mask, -torch.inf)
    lse = torch.logsumexp(scores, -1)
    weights = torch.exp(scores - lse.nan_to_num(neginf=0.0).unsqueeze(-1)).to(v.dtype)
    return torch.einsum("hst,thd->shd", weights.float(), v.float()).to(q.dtype), lse.T


def attend_everything(q, k, v, mask):
    return attend(q, k, v, torch.ones_like(mask))


def attend_by_local_position(q, k, v, mask):
    return attend(q, k, v, torch.ones_like(mask).tril())


def attend_unscaled(q, k, v, mask):
    return attend(q * math.sqrt(q.shape[-1]), k, v, mask)


def attend_in_base_2(q, k, v, mask):
    out, lse = attend(q, k, v, mask)
    return out, lse / math.log(2)


def attend_with_finite_lse(q, k, v, mask):
    out, lse = attend(q, k, v, mask)
    return out, lse.nan_to_num(neginf=-50000.0)


class Simulate(unittest.TestCase):
    def setUp(self):
        self.threads = torch.get_num_threads()
        torch.set_num_threads(1)  # the tensors are small

    def tearDown(self):
        torch.set_num_threads(self.threads)

    def test_right_attention_is_right_under_every_plan_and_type(self):
        for balance in BALANCES:
            for mask in MASKS:
                for dtype in ("float32", "bfloat16", "float16"):
                    with self.subTest(balance=balance, mask=mask, dtype=dtype):
                        window = 9 if mask == "window" else None
                        result = simulate(attend, 4, balance, mask, window=window, dtype=dtype, kv_heads=2, tokens=32)
                        self.assertTrue(result, str(result))
                        self.assertEqual(len(result.ranks), 4)

    def test_blocks_without_pairs_are_not_attended(self):
        steps = [(one.rank, one.source) for one in simulate(attend, 2, "contiguous").steps]
        self.assertEqual(steps, [(0, 0), (1, 1), (1, 0)])

    def test_ranks_own_the_tokens_of_the_reference(self):
        with open(os.path.join(ROOT, "tests", "reference", "sharding.json"), encoding="utf-8") as file:
            plans = [plan for plan in json.load(file) if plan["balance"] == "head_tail"]
        self.assertTrue(plans)
        for plan in plans:
            owned = owned_tokens("head_tail", plan["length"], plan["cp_size"])
            self.assertEqual(torch.cat(owned).tolist(), plan["indices"])

    def test_mistakes_of_an_attention_are_named_where_they_are(self):
        for wrong, balance, said, first in (
            (attend_everything, "contiguous", "the mask was ignored", (0, 0)),
            (attend_by_local_position, "striped", "by positions within the block", (0, 1)),
            (attend_unscaled, "head_tail", "not scaled", (0, 0)),
            (attend_in_base_2, "head_tail", "lse is in base 2, not in base e", (0, 0)),
            (attend_with_finite_lse, "head_tail", "must be −inf", (0, 1)),
        ):
            with self.subTest(wrong.__name__):
                result = simulate(wrong, 2, balance)
                self.assertFalse(result)
                step = next(one for one in result.steps if not one.right)
                self.assertEqual((step.rank, step.step), first)
                self.assertIn(said, step.said)
                self.assertIn(said, str(result))

    def test_an_lse_in_base_2_is_right_if_it_is_stated(self):
        self.assertTrue(simulate(attend_in_base_2, 2, base=2))

    def test_a_wrong_merge_is_named_though_every_block_is_right(self):
        result = simulate(attend, 4, merge=lambda outs, lses: (sum(outs), torch.logsumexp(torch.stack(lses), 0)))
        self.assertTrue(all(step.right for step in result.steps))
        self.assertEqual({one.merge.kind for one in result.ranks}, {MergeKind.PLAIN_SUM})
        self.assertFalse(any(one.right for one in result.ranks))

    def test_positions_are_given_to_a_function_that_takes_them(self):
        def by_positions(q, k, v, mask, q_positions, k_positions):
            return attend(q, k, v, q_positions.unsqueeze(1) >= k_positions)

        self.assertTrue(simulate(by_positions, 4, "striped"))

    def test_settings_that_do_not_fit_are_refused_with_what_to_pass(self):
        for options, said in (
            ({"balance": "round"}, "pass one of contiguous"),
            ({"mask": "window"}, "needs window="),
            ({"mask": "block"}, "pass one of full"),
            ({"tokens": 12}, "a multiple of 8"),
            ({"base": 10}, "pass 'e'"),
            ({"heads": 3, "kv_heads": 2}, "divides that of heads"),
        ):
            with self.subTest(said), self.assertRaises(ValueError) as raised:
                simulate(attend, 4, **options)
            self.assertIn(said, str(raised.exception))
        with self.assertRaisesRegex(ValueError, "attend returned"):
            simulate(lambda q, k, v, mask: (q, q), 2)


_TESTS = """
import torch
pytest_plugins = ["ringscope.pytest_plugin"]

def test_right(assert_merge):
    partials, lses = torch.randn(2, 3, 1, 4), torch.zeros(2, 3, 1)
    assert assert_merge(partials, lses, partials.mean(0)).right

def test_wrong(assert_merge):
    partials, lses = torch.randn(2, 3, 1, 4), torch.zeros(2, 3, 1)
    assert_merge(partials, lses, partials.sum(0))
"""


@unittest.skipIf(importlib.util.find_spec("pytest") is None, "pytest is not installed")
class Plugin(unittest.TestCase):
    def test_assert_merge_fails_with_the_name_of_the_mistake(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "test_merges.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(_TESTS)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path]
            settings = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE, os.environ.get("PYTHONPATH", "")])}
            done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=place, timeout=300)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 failed, 1 passed", done.stdout)
        self.assertIn("PLAIN_SUM: the partials were added without weights", done.stdout)


if __name__ == "__main__":
    unittest.main()
