# SPDX-License-Identifier: Apache-2.0
"""The recorder's guarantees, in jobs of two processes over Gloo and in one process."""

import fcntl
import json
import os
import pathlib
import sys
import tempfile
import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from jobs import EXAMPLES, HERE, PACKAGE, torchrun

sys.path[:0] = [PACKAGE, EXAMPLES]

import ringscope  # noqa: E402
from ringscope import _operators  # noqa: E402
from ringscope._hashing import gridsum64  # noqa: E402
from ringscope._pytorch import context_parallel_module  # noqa: E402
from ringscope._tensors import statistics  # noqa: E402
from tiny_llama import TinyLlama, VOCABULARY, make_batch  # noqa: E402


def lines_of(folder, rank=0):
    with open(os.path.join(folder, f"rank-{rank:05d}.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def of_kind(lines, kind):
    return [line for line in lines if line["line"] == kind]


class RealJob(unittest.TestCase):
    """Tests of one job of two ranks that runs with and without a recording."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = os.path.join(cls.place.name, "run1")
        torchrun("right.py", cls.folder, RESULT=os.path.join(cls.place.name, "recorded"))
        plain = os.path.join(HERE, "unrecorded.py")
        torchrun(plain, "right.py", RESULT=os.path.join(cls.place.name, "plain"))
        cls.lines = [lines_of(cls.folder, rank) for rank in (0, 1)]

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_loss_weights_and_random_state_are_bit_identical_with_and_without_recording(self):
        for rank in (0, 1):
            recorded = torch.load(os.path.join(self.place.name, f"recorded.{rank}"))
            plain = torch.load(os.path.join(self.place.name, f"plain.{rank}"))
            self.assertEqual(recorded.keys(), plain.keys())
            self.assertEqual(recorded.pop("losses"), plain.pop("losses"))
            for name, value in recorded.items():
                self.assertTrue(torch.equal(value, plain[name]), name)

    def test_every_rank_ends_without_trouble_and_says_what_recording_cost(self):
        for lines in self.lines:
            self.assertEqual(of_kind(lines, "trouble"), [])
            end = lines[-1]
            self.assertEqual((end["line"], end["why"], end["troubles"]), ("end", "finished", 0))
            self.assertGreater(end["overhead_ns"], 0)

    def test_all_ranks_share_one_job_id(self):
        jobs = [of_kind(lines, "job")[0]["job"] for lines in self.lines]
        self.assertEqual(jobs[0], jobs[1])
        self.assertEqual(len(jobs[0]), 32)

    def test_buffers_have_their_variables_names_and_the_tokens_that_the_rank_owns(self):
        for lines, own in zip(self.lines, ([[0, 16], [48, 64]], [[16, 48]])):
            buffers = [b for b in of_kind(lines, "buffer") if b["step"] == 0]
            names = [buffer["name"] for buffer in buffers]
            self.assertEqual(names, ["input_ids", "labels", "position_ids"])
            for buffer in buffers:
                self.assertEqual(buffer["tokens"], own)
                self.assertEqual((buffer["full_shape"], buffer["local_shape"]), ([1, 64], [1, 32]))

    def test_blocks_are_those_of_the_head_tail_ring(self):
        expected = (
            [(0, 0, [0, 32], [0, 32], True), (1, 1, [16, 32], [0, 32], False)],
            [(0, 1, [0, 32], [0, 32], True), (1, 0, [0, 32], [0, 16], False)],
        )
        for lines, want in zip(self.lines, expected):
            blocks = [b for b in of_kind(lines, "block") if b["call"] == 1]
            got = [
                (b["ring_step"], b["source_rank"], b["q_rows"], b["k_rows"], b["causal"])
                for b in blocks
            ]
            self.assertEqual(got, want)

    def test_a_held_block_has_the_hash_that_its_owner_gave_it(self):
        def held(rank, ring_step):
            return [
                t["hash"]
                for t in of_kind(self.lines[rank], "tensor")
                if t["what"] == "kv" and t["ring_step"] == ring_step
            ]

        self.assertEqual(held(0, 1), held(1, 0))
        self.assertEqual(held(1, 1), held(0, 0))
        self.assertNotEqual(held(0, 0), held(1, 0))

    def test_backward_is_put_in_the_layer_whose_forward_it_is_of(self):
        for lines in self.lines:
            calls = [a for a in of_kind(lines, "attention") if a["step"] == 0]
            got = [(a["direction"], a["layer"]) for a in calls]
            self.assertEqual(
                got, [("forward", 0), ("forward", 1), ("backward", 1), ("backward", 0)]
            )

    def test_dkv_comes_home_by_as_many_hops_as_there_are_ranks(self):
        for lines in self.lines:
            hops = [h for h in of_kind(lines, "hop") if h["call"] == 3 and h["payload"] == "dkv"]
            self.assertEqual([h["hop"] for h in hops], [1, 2])

    def test_sums_of_gradients_have_their_names_and_what_comes_of_them_is_equal(self):
        after = []
        for lines in self.lines:
            gradients = [
                tensor
                for tensor in of_kind(lines, "tensor")
                if tensor["name"] == "lm_head.weight" and tensor["step"] == 0
            ]
            self.assertEqual([tensor["what"] for tensor in gradients], ["grad", "weight"])
            after.append(gradients[0]["hash"])
            sums = [sum_ for sum_ in of_kind(lines, "collective") if sum_["gradients"] and sum_["step"] == 0]
            self.assertEqual(len(sums), 15)
            self.assertIn(["lm_head.weight"], [sum_["gradients"] for sum_ in sums])
        self.assertEqual(after[0], after[1])

    def test_the_loss_has_its_targets_and_the_sum_over_them(self):
        logged = of_kind(self.lines[0], "log")[0]["values"]["loss"]
        losses = [of_kind(lines, "loss")[0] for lines in self.lines]
        self.assertEqual([loss["targets"] for loss in losses], [32, 32])
        self.assertEqual([loss["target_buffer"] for loss in losses], ["labels", "labels"])
        self.assertAlmostEqual(sum(loss["sum"] for loss in losses) / 64, logged, places=5)


def step(model, optimizer):
    ids, labels = make_batch(0)
    loss = F.cross_entropy(model(ids).view(-1, VOCABULARY), labels.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


class OneProcess(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.addCleanup(ringscope.stop)
        self.folder = os.path.join(self.place.name, "run1")
        torch.manual_seed(0)
        self.model = TinyLlama()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def test_nothing_is_left_wrapped_or_hooked(self):
        ring = context_parallel_module()
        watched = [(ring, "_templated_ring_attention"), (ring, "_context_parallel_buffers")]
        watched += [(ring, "_create_rotater"), (nn.utils, "clip_grad_norm_")]
        watched += [(F, "scaled_dot_product_attention"), (ring._SDPAMerger, "step")]
        before = [getattr(owner, name) for owner, name in watched]
        with ringscope.record(self.folder, model=self.model):
            step(self.model, self.optimizer)
        self.assertEqual([getattr(owner, name) for owner, name in watched], before)
        self.assertFalse(stands_before_operators())
        for module in self.model.modules():
            self.assertEqual(len(module._forward_hooks) + len(module._forward_pre_hooks), 0)
        lines = len(lines_of(self.folder))
        step(self.model, self.optimizer)
        self.assertEqual(len(lines_of(self.folder)), lines)

    def test_a_failure_of_the_job_is_passed_on_and_written_down(self):
        with self.assertRaisesRegex(ValueError, "of the job"):
            with ringscope.record(self.folder, model=self.model):
                raise ValueError("of the job")
        self.assertEqual(lines_of(self.folder)[-1]["why"], "failed: ValueError: of the job")
        self.assertFalse(stands_before_operators())

    def test_an_error_of_the_recorder_does_not_reach_the_job(self):
        expected = step(TinyLlama_like(self.model), NoStep())
        with ringscope.record(self.folder, model=self.model):
            ringscope._current.session.tensor = None
            self.assertEqual(step(self.model, self.optimizer), expected)
        self.assertGreater(lines_of(self.folder)[-1]["troubles"], 0)

    def test_no_logged_value_raises_and_numbers_that_are_not_finite_are_null(self):
        odd = {
            "loss": torch.tensor(float("nan")),
            "grad_norm": float("inf"),
            "rate": 1e300,
            "many": torch.ones(2),
            "empty": torch.empty(0),
            "text": "none",
            "nothing": None,
            "huge": 10**400,
        }
        with ringscope.record(self.folder, model=self.model):
            step(self.model, self.optimizer)
            ringscope.log(**odd)
        lines = lines_of(self.folder)
        (logged,) = of_kind(lines, "log")
        self.assertEqual(logged["values"], {"loss": None, "grad_norm": None, "rate": 1e300})
        left_out = [line["where"] for line in of_kind(lines, "trouble")]
        self.assertEqual(left_out, [f"log({name}=)" for name in ("many", "empty", "text", "nothing", "huge")])

    def test_a_loss_that_is_no_number_is_recorded_without_its_sum(self):
        with torch.no_grad():
            next(self.model.parameters()).fill_(float("nan"))
        with ringscope.record(self.folder, model=self.model):
            step(self.model, self.optimizer)
        (loss,) = of_kind(lines_of(self.folder), "loss")
        self.assertIsNone(loss["sum"])
        self.assertGreater(loss["targets"], 0)

    def test_only_the_asked_steps_are_recorded(self):
        with ringscope.record(self.folder, model=self.model, steps=[1]):
            for _ in range(3):
                step(self.model, self.optimizer)
        steps = {line["step"] for line in of_kind(lines_of(self.folder), "tensor")}
        self.assertEqual(steps, {1})

    def test_gradients_are_seen_before_they_are_clipped_and_clipping_is_passed_on(self):
        with ringscope.record(self.folder, model=self.model):
            ids, labels = make_batch(0)
            F.cross_entropy(self.model(ids).view(-1, VOCABULARY), labels.view(-1)).backward()
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
            self.optimizer.step()
        lines = lines_of(self.folder)
        clip = of_kind(lines, "clip")[0]
        self.assertEqual((clip["norm"], clip["max_norm"]), (norm.item(), 0.1))
        largest = {
            what: max(t["stats"]["abs_max"] for t in of_kind(lines, "tensor") if t["what"] == what)
            for what in ("grad_unclipped", "grad")
        }
        self.assertGreater(largest["grad_unclipped"], largest["grad"])
        self.assertEqual(of_kind(lines, "trouble"), [])

    def test_math_attention_is_recorded_with_its_backward_and_computes_the_same_bits(self):
        def gradients():
            torch.manual_seed(1)
            q, k, v = (torch.randn(1, 2, 8, 4, requires_grad=True) for _ in range(3))
            with sdpa_kernel(SDPBackend.MATH):
                out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            out.square().sum().backward()
            return q.grad, k.grad, v.grad

        plain = gradients()
        with ringscope.record(self.folder, model=self.model):
            recorded = gradients()
        for before, after in zip(plain, recorded):
            self.assertTrue(torch.equal(before, after))
        lines = lines_of(self.folder)
        self.assertEqual(of_kind(lines, "trouble"), [])
        forward, backward = of_kind(lines, "attention")
        self.assertEqual((forward["direction"], list(forward["tensors"])), ("forward", ["q", "k", "v", "out"]))
        self.assertEqual(list(backward["tensors"]), ["dout", "dq", "dk", "dv"])
        self.assertEqual(backward["forward_call"], forward["call"])
        hashes = {t["what"]: t["hash"] for t in of_kind(lines, "tensor")}
        self.assertEqual(hashes["dv"], f"{gridsum64(plain[2]):016x}")

    def test_a_budget_that_is_used_up_ends_recording_and_not_the_job(self):
        with ringscope.record(self.folder, model=self.model, steps=None, budget_bytes=20_000):
            for _ in range(3):
                step(self.model, self.optimizer)
        lines = lines_of(self.folder)
        self.assertEqual(len(of_kind(lines, "full")), 1)
        size = sum(os.path.getsize(entry.path) for entry in os.scandir(self.folder))
        self.assertLess(size, 30_000)

    def test_an_earlier_recording_is_set_aside(self):
        earlier = []
        for number in range(3):
            with ringscope.record(self.folder, model=self.model):
                for _ in range(number):
                    step(self.model, self.optimizer)
            earlier.append(lines_of(self.folder))
        self.assertEqual(lines_of(os.path.join(self.folder, "before-1")), earlier[0])
        self.assertEqual(lines_of(os.path.join(self.folder, "before-2")), earlier[1])
        self.assertNotEqual(earlier[1], earlier[2])

    def test_files_of_ranks_that_the_job_lacks_are_set_aside_too(self):
        os.makedirs(self.folder)
        for name in ("rank-00005.jsonl", "rank-00005.values-0000.safetensors", "notes.txt"):
            pathlib.Path(self.folder, name).write_text("kept")
        with ringscope.record(self.folder, model=self.model):
            pass
        self.assertEqual(sorted(os.listdir(self.folder)), ["before-1", "notes.txt", "rank-00000.jsonl"])
        self.assertEqual(pathlib.Path(self.folder, "before-1", "rank-00005.jsonl").read_text(), "kept")

    def test_a_file_that_another_job_is_writing_stays(self):
        with ringscope.record(self.folder, model=self.model):
            pass
        lines = lines_of(self.folder)
        with open(os.path.join(self.folder, "rank-00000.jsonl"), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            ringscope.start(self.folder, model=self.model)
        self.assertIsNone(ringscope._current)
        self.assertEqual(lines_of(self.folder), lines)

    def test_an_unknown_declaration_is_refused_before_anything_is_written(self):
        ringscope.start(self.folder, model=self.model, declare={"mask": "diagonal"})
        self.assertIsNone(ringscope._current)
        self.assertFalse(os.path.exists(self.folder))

    def test_without_a_model_the_first_that_is_called_is_taken(self):
        with ringscope.record(self.folder):
            step(self.model, self.optimizer)
        self.assertEqual(of_kind(lines_of(self.folder), "model")[0]["of"], "TinyLlama")


def stands_before_operators():
    """Reports whether the recorder still intercepts operators."""
    known = [*_operators.attention_operators(), *_operators.collective_operators()]
    names = [operator.full_name for operator in known] + ["aten::embedding"]
    ours = [(name, _operators._KEYS[0]) for name in names]
    ours += [("aten::" + _operators._MATH, key) for key in _operators._KEYS_OF_MATH]
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(*each) for each in ours)


class NoStep:
    def step(self):
        pass

    def zero_grad(self):
        pass


def TinyLlama_like(model):
    copy = TinyLlama()
    copy.load_state_dict(model.state_dict())
    return copy


class Numbers(unittest.TestCase):
    def test_statistics_leave_out_what_is_not_finite(self):
        values = torch.tensor([float("nan"), float("inf"), -2.0, 1.0])
        expected = {"min": -2.0, "max": 1.0, "mean": -0.5, "abs_max": 2.0, "nan": 1, "inf": 1}
        self.assertEqual(statistics(values), expected)


if __name__ == "__main__":
    unittest.main()
