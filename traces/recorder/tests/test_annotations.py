# SPDX-License-Identifier: Apache-2.0
"""A job's annotations of its own attention, and their effect on the recording."""

import os
import sys
import tempfile
import unittest

import torch
import torch.distributed as dist

from jobs import EXAMPLES, HERE, PACKAGE, torchrun
from test_recording import lines_of, of_kind

sys.path[:0] = [PACKAGE, EXAMPLES]

import ringscope  # noqa: E402
from ringscope._recording import _checked  # noqa: E402
from ringscope._shapes import heads_first, lse_of  # noqa: E402


class HandRing(unittest.TestCase):
    """A hand-written ring of two ranks over contiguous shards."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        folder = os.path.join(cls.place.name, "run1")
        torchrun("ring.py", folder, RESULT=os.path.join(cls.place.name, "recorded"))
        plain = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unrecorded.py")
        torchrun(plain, "ring.py", RESULT=os.path.join(cls.place.name, "plain"))
        cls.lines = [lines_of(folder, rank) for rank in (0, 1)]

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_the_job_computes_the_same_bits_with_and_without_recording(self):
        for rank in (0, 1):
            recorded = torch.load(os.path.join(self.place.name, f"recorded.{rank}"))
            plain = torch.load(os.path.join(self.place.name, f"plain.{rank}"))
            self.assertEqual(recorded.pop("losses"), plain.pop("losses"))
            for name, value in recorded.items():
                self.assertTrue(torch.equal(value, plain[name]), name)

    def test_no_trouble_is_written(self):
        for lines in self.lines:
            self.assertEqual(of_kind(lines, "trouble"), [])

    def test_buffers_have_the_tokens_that_the_job_named(self):
        for lines, own in zip(self.lines, ([[0, 32]], [[32, 64]])):
            buffers = [b for b in of_kind(lines, "buffer") if b["step"] == 0]
            names = [b["name"] for b in buffers]
            self.assertEqual(names, ["input_ids", "labels", "position_ids"])
            for buffer in buffers:
                self.assertEqual((buffer["tokens"], buffer["full_shape"]), (own, [1, 64]))

    def test_blocks_and_the_sources_of_all_ring_steps(self):
        expected = ([(0, 0, True)], [(0, 1, True), (1, 0, False)])
        for lines, want, sources in zip(self.lines, expected, ([0, 1], [1, 0])):
            blocks = [b for b in of_kind(lines, "block") if b["call"] == 1]
            got = [(b["ring_step"], b["source_rank"], b["causal"]) for b in blocks]
            self.assertEqual(got, want)
            self.assertEqual(of_kind(lines, "attention_end")[0]["sources"], sources)

    def test_hops_are_told_apart_by_what_they_carry(self):
        for rank, lines in enumerate(self.lines):
            hops = [(h["direction"], h["payload"], h["hop"]) for h in of_kind(lines, "hop")]
            forward = ("forward", "kv", 1)
            backward = [("backward", "dkv", 1), ("backward", "dkv", 2), ("backward", "kv", 1)]
            self.assertEqual(hops[:5], [forward, forward, *backward])
            first = of_kind(lines, "hop")[0]
            self.assertEqual((first["send_to"], first["receive_from"]), (1 - rank, 1 - rank))
            self.assertEqual((first["sends_of"], first["brings_of"]), (rank, 1 - rank))
            self.assertEqual(first["bytes"], 2 * 4 * 32 * 8 * 4)
            self.assertLessEqual(first["posted_ns"], first["wait_ns"])
            self.assertLess(first["wait_ns"], first["end_ns"])

    def test_backward_is_put_in_the_layer_whose_forward_it_is_of(self):
        for lines in self.lines:
            calls = [a for a in of_kind(lines, "attention") if a["step"] == 0]
            got = [(a["direction"], a["layer"], a["forward_call"]) for a in calls]
            self.assertEqual(
                got,
                [("forward", 0, 1), ("forward", 1, 2), ("backward", 1, 2), ("backward", 0, 1)],
            )

    def test_a_block_that_came_by_a_hop_has_the_hash_that_its_owner_gave_it(self):
        own, brought = (
            [t["hash"] for t in of_kind(lines, "tensor") if t["what"] == "kv" and t["source_rank"] == 0]
            for lines in self.lines
        )
        self.assertEqual(brought, own)


class FourRanks(unittest.TestCase):
    def test_kv_that_a_rank_only_passes_on_is_told_from_dkv(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run1")
            torchrun("ring.py", folder, processes=4)
            for rank in range(4):
                hops = {}
                for hop in of_kind(lines_of(folder, rank), "hop"):
                    if hop["direction"] == "backward":
                        hops.setdefault((hop["call"], hop["payload"]), []).append(hop["hop"])
                for (_, payload), numbers in hops.items():
                    self.assertEqual(numbers, [1, 2, 3] if payload == "kv" else [1, 2, 3, 4])
                self.assertEqual(len(hops), 8)  # two layers, two steps, two payloads


class Ulysses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        folder = os.path.join(cls.place.name, "run1")
        torchrun("ulysses.py", folder, RESULT=os.path.join(cls.place.name, "recorded"))
        cls.lines = lines_of(folder, 1)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_the_job_computes_the_same_bits_with_and_without_recording(self):
        plain = os.path.join(HERE, "unrecorded.py")
        torchrun(plain, "ulysses.py", RESULT=os.path.join(self.place.name, "plain"))
        recorded, unrecorded = (
            torch.load(os.path.join(self.place.name, f"{name}.1")) for name in ("recorded", "plain")
        )
        self.assertEqual(recorded.pop("losses"), unrecorded.pop("losses"))
        for name, value in recorded.items():
            self.assertTrue(torch.equal(value, unrecorded[name]), name)

    def test_a_backward_that_autograd_runs_belongs_to_its_forward(self):
        begins = [a for a in of_kind(self.lines, "attention") if a["step"] == 1]
        got = [(a["direction"], a["layer"], a["call"], a["forward_call"]) for a in begins]
        want = [("forward", 0, 5, 5), ("forward", 1, 6, 6), ("backward", 1, 7, 6), ("backward", 0, 8, 5)]
        self.assertEqual(got, want)
        self.assertEqual(list(begins[2]["tensors"]), ["dout"])
        shapes = {t["id"]: t["shape"] for t in of_kind(self.lines, "tensor")}
        ends = {end["call"]: end for end in of_kind(self.lines, "attention_end")}
        self.assertEqual(list(ends[7]["tensors"]), ["dq", "dk", "dv"])
        self.assertEqual({tuple(shapes[number]) for number in ends[7]["tensors"].values()}, {(1, 4, 32, 8)})
        self.assertEqual(ends[7]["strategy"], "ulysses")
        collectives = [c for c in of_kind(self.lines, "collective") if c.get("call") == 7]
        self.assertEqual([c["operator"] for c in collectives], ["all_to_all"] * 4)

    def test_the_operator_within_is_the_block_and_collectives_belong_to_the_call(self):
        lines = self.lines
        self.assertEqual(of_kind(lines, "trouble"), [])
        block = of_kind(lines, "block")[0]
        self.assertEqual((block["q_shape"], block["q_rows"]), ([1, 2, 64, 8], [0, 64]))
        self.assertTrue(block["causal"])
        self.assertEqual(of_kind(lines, "attention_end")[0]["strategy"], "ulysses")
        turned = [c for c in of_kind(lines, "collective") if c["operator"] == "all_to_all"]
        self.assertEqual([c.get("call") for c in turned[:4]], [1, 1, 1, 1])


class OneProcess(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.addCleanup(ringscope.stop)
        self.folder = os.path.join(self.place.name, "run1")
        self.q = torch.randn(1, 2, 4, 8)

    def attend(self, **block):
        ringscope.attention(self.q, self.q, self.q, causal=True)
        ringscope.block(0, 0, self.q, self.q, **block)
        ringscope.attention(out=self.q)

    def test_without_a_recording_annotations_do_nothing(self):
        self.attend(out=torch.zeros(3))
        ringscope.buffer(self.q, "x", tokens=range(4), seq_dim=2)

    def test_what_does_not_fit_is_written_down_and_not_raised(self):
        with ringscope.record(self.folder):
            self.attend(out=self.q, lse=torch.zeros(5))
            ringscope.block(0, 0, self.q, self.q)
            ringscope.attention(out=self.q)
        troubles = [line["error"] for line in of_kind(lines_of(self.folder), "trouble")]
        self.assertEqual(len(troubles), 3)
        self.assertIn("lse has shape [5]", troubles[0])
        self.assertIn("outside of an attention", troubles[1])
        self.assertIn("results of no attention", troubles[2])

    def test_an_attention_that_never_ended_is_said(self):
        with ringscope.record(self.folder):
            ringscope.attention(self.q, self.q, self.q, causal=True)
            self.attend()
        lines = lines_of(self.folder)
        self.assertIn("before this one had its results", of_kind(lines, "trouble")[0]["error"])
        self.assertEqual(len(of_kind(lines, "attention_end")), 2)

    def test_a_forward_needs_its_mask_and_a_layout_that_is_known(self):
        with ringscope.record(self.folder):
            ringscope.attention(self.q, self.q, self.q)
        self.assertRegex(self.problem(), "causal=True or causal=False")
        with ringscope.record(self.folder + "2"):
            ringscope.attention(self.q, self.q, self.q, causal=True, layout="hbsd")
        self.assertRegex(self.problem("2"), "known are bhsd, bshd, sbhd")

    def problem(self, which=""):
        return of_kind(lines_of(self.folder + which), "trouble")[0]["error"]

    def test_tokens_must_be_as_many_as_the_tensor_has(self):
        with ringscope.record(self.folder):
            ringscope.buffer(torch.zeros(1, 4), "labels", tokens=range(3))
        self.assertRegex(self.problem(), "3 tokens were given for the 4")
        with ringscope.record(self.folder + "2"):
            ringscope.buffer(torch.zeros(1, 4), "labels", tokens=[-1, 0, 1, 2])
        self.assertRegex(self.problem("2"), "before the sequence begins")

    def test_tensors_of_either_layout_are_recorded_alike(self):
        with ringscope.record(self.folder):
            self.attend(out=self.q, lse=self.q[..., 0])
            other = self.q.transpose(1, 2).contiguous()
            ringscope.attention(other, other, other, causal=True, layout="bshd")
            ringscope.block(0, 0, other, other, out=other, lse=other[..., :1])
            ringscope.attention(out=other, layout="bshd")
            other = self.q.permute(2, 0, 1, 3).contiguous()
            ringscope.attention(other, other, other, causal=True, layout="sbhd")
            ringscope.block(0, 0, other, other, out=other, lse=other[..., :1].permute(1, 2, 0, 3).contiguous())
            ringscope.attention(out=other, layout="sbhd")
        hashes = {}
        for tensor in of_kind(lines_of(self.folder), "tensor"):
            hashes.setdefault(tensor["what"], []).append(tensor["hash"])
        for what in ("q", "kv", "block_out", "block_lse", "out"):
            self.assertEqual(len(hashes[what]), 3)
            self.assertEqual(len(set(hashes[what])), 1, what)

    def test_a_backward_that_the_job_calls_itself_is_one(self):
        with ringscope.record(self.folder):
            self.attend()
            ringscope.attention(self.q, self.q, self.q, dout=self.q)
            ringscope.block(0, 0, self.q, self.q)
            ringscope.attention(dq=self.q, dk=self.q, dv=self.q)
        lines = lines_of(self.folder)
        held = [t["pass"] for t in of_kind(lines, "tensor") if t["what"] == "kv"]
        self.assertEqual(held, ["forward", "backward"])
        calls = [(a["direction"], a["forward_call"]) for a in of_kind(lines, "attention")]
        self.assertEqual(calls, [("forward", 1), ("backward", 1)])

    def test_a_window_is_declared_with_its_keys(self):
        with self.assertRaisesRegex(ValueError, "window"):
            _checked({"mask": "window"})
        with ringscope.record(self.folder, declare={"mask": "window", "window": 16}):
            pass
        self.assertEqual(of_kind(lines_of(self.folder), "declared")[0]["window"], 16)

    def test_nothing_of_distributed_is_left_wrapped(self):
        before = (dist.ProcessGroup.send, dist.distributed_c10d.Work.wait)
        with ringscope.record(self.folder):
            self.assertNotEqual(dist.ProcessGroup.send, before[0])
        self.assertEqual((dist.ProcessGroup.send, dist.distributed_c10d.Work.wait), before)


class Shapes(unittest.TestCase):
    def test_lse_is_taken_in_the_orders_that_kernels_return(self):
        out = torch.randn(2, 3, 5, 4)
        lse = torch.randn(2, 3, 5)
        for given in (lse, lse[..., None], lse.transpose(1, 2), lse.transpose(1, 2)[..., None]):
            self.assertTrue(torch.equal(lse_of(given, out, "lse"), lse))

    def test_packed_tensors_are_refused(self):
        with self.assertRaisesRegex(ValueError, "needs 4"):
            heads_first(torch.zeros(5, 3, 4), "bhsd", "q")


if __name__ == "__main__":
    unittest.main()
