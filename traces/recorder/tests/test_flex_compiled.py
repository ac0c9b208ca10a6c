# SPDX-License-Identifier: Apache-2.0
"""Recordings of flex_attention that torch.compile has compiled."""

import os
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import torch
from torch import nn
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from jobs import PACKAGE
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402
from ringscope import _flex_compiled  # noqa: E402
from ringscope._hashing import gridsum64  # noqa: E402

TOKENS = 32


def causal(batch, head, row, key):
    return row >= key


def kernel(graph, _):
    """Returns a function that runs none of PyTorch's operators, like a compiled kernel."""
    with_lse = len(list(graph.graph.nodes)[-1].args[0]) > 1

    def run(q, k, v, *_):
        scores = q @ k.mT
        out = scores.softmax(-1) @ v
        return (out, scores.logsumexp(-1)) if with_lse else (out,)

    return run


def inputs():
    torch.manual_seed(0)
    return [torch.randn(1, 2, TOKENS, 8, requires_grad=True) for _ in range(3)]


def attend(compiled, mask=causal, **more):
    """Returns the results of flex_attention and the gradients of q, k and v."""
    q, k, v = inputs()
    blocks = create_block_mask(mask, None, None, TOKENS, TOKENS, "cpu", BLOCK_SIZE=16) if mask else None
    results = compiled(q, key=k, value=v, block_mask=blocks, **more)
    out = results[0] if isinstance(results, tuple) else results
    out.square().sum().backward()
    return results, q.grad, k.grad, v.grad


class CompiledFlex(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.addCleanup(ringscope.stop)
        self.addCleanup(torch._dynamo.reset)
        self.folder = os.path.join(place.name, "run1")
        warnings.simplefilter("ignore")
        refuses = mock.patch.object(flex, "_validate_device", lambda *_: None)
        refuses.start()
        self.addCleanup(refuses.stop)

    def recorded(self, job):
        with ringscope.record(self.folder, model=nn.Linear(2, 2)):
            self.results = job()
        self.lines = lines_of(self.folder)
        self.assertEqual(of_kind(self.lines, "trouble"), [])
        return of_kind(self.lines, "attention")

    def hashes(self):
        return {tensor["what"]: tensor["hash"] for tensor in of_kind(self.lines, "tensor")}

    def test_forward_and_backward_are_recorded_and_compute_the_same_bits(self):
        compiled = torch.compile(flex_attention, backend=kernel)
        code = compiled.__code__
        plain = attend(compiled)
        forward, backward = self.recorded(lambda: attend(compiled))
        for one, other in zip(plain, self.results):
            self.assertTrue(torch.equal(one, other))
        self.assertEqual(list(forward["tensors"]), ["q", "k", "v", "out"])
        self.assertEqual(list(backward["tensors"]), ["dout", "dq", "dk", "dv"])
        self.assertEqual(backward["forward_call"], forward["call"])
        for what, value in zip(("out", "dq", "dk", "dv"), plain):
            self.assertEqual(self.hashes()[what], f"{gridsum64(value):016x}", what)
        self.assertEqual((forward["causal"], forward["masked"]), (True, False))
        self.assertEqual(forward["flex"]["mask"]["name"], "causal")
        self.assertEqual(forward["flex"]["blocks"], {"size": [16, 16], "kept": 3, "of": 4})
        self.assertTrue(forward["flex"]["compiled"])
        self.assertIs(compiled.__code__, code)
        self.assertEqual(_flex_compiled._standing, {})

    def test_one_that_is_compiled_meanwhile_is_seen_too(self):
        compile = torch.compile
        lines = self.recorded(lambda: attend(torch.compile(flex_attention, backend=kernel)))
        self.assertEqual([line["direction"] for line in lines], ["forward", "backward"])
        self.assertIs(torch.compile, compile)

    def test_what_the_job_asked_for_beside_out_is_recorded(self):
        compiled = torch.compile(flex_attention, backend=kernel)
        forward, _ = self.recorded(lambda: attend(compiled, return_lse=True))
        out, lse = self.results[0]
        self.assertIn("lse", forward["tensors"])
        self.assertEqual(self.hashes()["lse"], f"{gridsum64(lse):016x}")
        self.assertEqual(self.hashes()["out"], f"{gridsum64(out):016x}")

    def test_where_the_operator_itself_runs_it_is_written_once(self):
        compiled = torch.compile(flex_attention, backend="eager")
        forward, backward = self.recorded(lambda: attend(compiled))
        self.assertIn("lse", forward["tensors"])
        self.assertNotIn("compiled", forward["flex"])
        self.assertEqual(backward["forward_call"], forward["call"])

    def test_a_mask_that_reads_something_else_next_time_is_asked_again(self):
        compiled = torch.compile(flex_attention, backend=kernel)
        reach = [1 << 20]

        def near(batch, head, row, key):
            return (row >= key) & (row - key < reach[0])

        def twice():
            attend(compiled, near)
            reach[0] = 4
            attend(compiled, near)

        lines = [line for line in self.recorded(twice) if line["direction"] == "forward"]
        self.assertEqual([line["flex"]["mask"]["kind"] for line in lines], ["causal", "window"])

    def test_without_a_mask_all_is_attended(self):
        forward, _ = self.recorded(lambda: attend(torch.compile(flex_attention, backend=kernel), None))
        self.assertEqual((forward["causal"], forward["masked"]), (False, False))
        self.assertEqual(forward["flex"]["mask"], {"kind": "full", "attended": 1.0, "name": None})

    def test_a_wrong_call_fails_as_without_a_recording(self):
        compiled = torch.compile(flex_attention, backend=kernel)
        with self.assertRaises(TypeError) as plain:
            compiled(1, no_such_argument=2)
        with self.assertRaises(TypeError) as recorded:
            self.recorded(lambda: compiled(1, no_such_argument=2))
        self.assertEqual(str(recorded.exception), str(plain.exception))

    def test_another_function_that_was_compiled_is_said_to_be_unseen(self):
        def own(q, k, v):
            return flex_attention(q, k, v)

        def never_called(q):
            return q

        compiled, _ = (torch.compile(f, backend=kernel) for f in (own, never_called))
        self.assertEqual(self.recorded(lambda: compiled(*inputs()).sum().backward()), [])
        said = [line["why"] for line in of_kind(self.lines, "limit")]
        self.assertEqual(sum("own is compiled" in why for why in said), 1, said)
        self.assertFalse(any("never_called" in why for why in said), said)


if __name__ == "__main__":
    unittest.main()
