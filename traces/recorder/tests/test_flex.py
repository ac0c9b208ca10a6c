# SPDX-License-Identifier: Apache-2.0
"""Recordings of flex_attention."""

import os
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import torch
from torch import nn
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention

from jobs import PACKAGE
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402
from ringscope import _flex, _flex_mask  # noqa: E402
from ringscope._hashing import gridsum64  # noqa: E402

TOKENS = 32
DOCUMENTS = torch.tensor([0] * 12 + [1] * 20)


def causal(batch, head, row, key):
    return row >= key


def same_document(batch, head, row, key):
    return DOCUMENTS[row] == DOCUMENTS[key]


def five_keys(batch, head, row, key):
    return (row >= key) & (row - key < 5)


def every_second_head(batch, head, row, key):
    return (row >= key) | (head % 2 == 0)


def alibi(score, batch, head, row, key):
    return score - 0.1 * (row - key)


def attend(mask=None, score=None, kv_heads=2):
    """Returns out and the gradients of q, k and v."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, h, TOKENS, 8, requires_grad=True) for h in (2, kv_heads, kv_heads))
    blocks = create_block_mask(mask, None, None, TOKENS, TOKENS, "cpu", BLOCK_SIZE=16) if mask else None
    out = flex_attention(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=kv_heads != 2)
    out.square().sum().backward()
    return out.detach(), q.grad, k.grad, v.grad


def kernels():
    return [operator.func.py_kernels[gate_key()] for operator, _, _ in _flex.FlexGate(None)._kernels]


def gate_key():
    return torch._C.DispatchKey.CompositeExplicitAutograd


class Flex(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.addCleanup(ringscope.stop)
        self.folder = os.path.join(place.name, "run1")
        warnings.simplefilter("ignore")
        # Compiled flex_attention has no backward on a CPU, so PyTorch rejects it there. In eager mode it has one.
        refuses = mock.patch.object(flex, "_validate_device", lambda *_: None)
        refuses.start()
        self.addCleanup(refuses.stop)

    def recorded(self, *args, **kwargs):
        with ringscope.record(self.folder, model=nn.Linear(2, 2)):
            self.results = attend(*args, **kwargs)
        self.lines = lines_of(self.folder)
        self.assertEqual(of_kind(self.lines, "trouble"), [])
        return of_kind(self.lines, "attention")

    def test_forward_and_backward_are_recorded_and_compute_the_same_bits(self):
        before = kernels()
        plain = attend(causal)
        forward, backward = self.recorded(causal)
        for one, other in zip(plain, self.results):
            self.assertTrue(torch.equal(one, other))
        self.assertEqual(list(forward["tensors"]), ["q", "k", "v", "out", "lse"])
        self.assertEqual(list(backward["tensors"]), ["dout", "dq", "dk", "dv"])
        self.assertEqual(backward["forward_call"], forward["call"])
        hashes = {tensor["what"]: tensor["hash"] for tensor in of_kind(self.lines, "tensor")}
        for what, value in zip(("out", "dq", "dk", "dv"), plain):
            self.assertEqual(hashes[what], f"{gridsum64(value):016x}", what)
        self.assertEqual(kernels(), before)
        self.assertEqual(of_kind(self.lines, "limit"), [])

    def test_lse_is_to_the_base_e(self):
        forward, _ = self.recorded()
        torch.manual_seed(0)
        q, k = torch.randn(1, 2, TOKENS, 8), torch.randn(1, 2, TOKENS, 8)
        lse = (q @ k.transpose(-1, -2) * 8**-0.5).logsumexp(-1)
        found = [t for t in of_kind(self.lines, "tensor") if t["id"] == forward["tensors"]["lse"]][0]
        self.assertAlmostEqual(found["stats"]["mean"], lse.mean().item(), places=5)

    def test_a_mask_is_told_by_what_it_attends_and_has_its_name(self):
        forward, _ = self.recorded(causal)
        self.assertEqual((forward["causal"], forward["masked"]), (True, False))
        attended = (TOKENS + 1) / (2 * TOKENS)
        self.assertEqual(forward["flex"]["mask"], {"kind": "causal", "attended": attended, "name": "causal"})
        self.assertEqual(forward["flex"]["blocks"], {"size": [16, 16], "kept": 3, "of": 4})
        self.assertIsNone(forward["flex"]["score"])

    def test_without_a_mask_all_is_attended(self):
        forward, _ = self.recorded(kv_heads=1)
        self.assertEqual((forward["causal"], forward["masked"]), (False, False))
        self.assertEqual(forward["flex"]["mask"], {"kind": "full", "attended": 1.0, "name": None})
        self.assertIsNone(forward["flex"]["blocks"])
        self.assertTrue(forward["flex"]["shares_kv_heads"])

    def test_a_window_has_its_keys(self):
        forward, _ = self.recorded(five_keys)
        mask = forward["flex"]["mask"]
        self.assertEqual((mask["kind"], mask["window"], mask["name"]), ("window", 5, "five_keys"))
        self.assertEqual((forward["causal"], forward["masked"]), (False, True))

    def test_a_mask_of_two_has_the_names_of_both(self):
        forward, _ = self.recorded(and_masks(causal, same_document))
        mask = forward["flex"]["mask"]
        self.assertEqual((mask["kind"], mask["documents"]), ("documents", [[0, 12], [12, 32]]))
        self.assertEqual(mask["attended"], (12 * 13 + 20 * 21) / 2 / TOKENS**2)
        self.assertRegex(mask["name"], r"^and_mask\((causal, same_document|same_document, causal)\)$")

    def test_what_one_head_attends_is_not_taken_for_all(self):
        forward, _ = self.recorded(every_second_head)
        self.assertEqual(forward["flex"]["mask"]["kind"], "other")
        self.assertTrue(forward["masked"])

    def test_a_function_of_scores_is_named_and_causal_alone_no_longer_tells_all(self):
        forward, backward = self.recorded(causal, alibi)
        for line in (forward, backward):
            self.assertEqual(line["flex"]["score"], "alibi")
            self.assertEqual((line["causal"], line["masked"]), (True, True))

    def test_of_a_mask_too_large_to_ask_it_is_said_that_it_is_not_known(self):
        with mock.patch.object(_flex_mask, "_MOST_PAIRS", 10):
            forward, _ = self.recorded(causal)
        self.assertEqual(forward["flex"]["mask"], {"kind": None, "attended": None, "name": "causal"})
        self.assertEqual((forward["causal"], forward["masked"]), (False, True))

    def test_a_pytorch_with_other_kernels_is_recorded_without_them(self):
        with mock.patch.object(_flex, "FlexGate", side_effect=AttributeError("py_kernels")):
            self.assertEqual(self.recorded(causal), [])
        self.assertIn("py_kernels", of_kind(self.lines, "limit")[0]["why"])


if __name__ == "__main__":
    unittest.main()
