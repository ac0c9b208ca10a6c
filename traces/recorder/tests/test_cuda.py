# SPDX-License-Identifier: Apache-2.0
"""Recordings of a job on a GPU, where work is queued long before it runs."""

import importlib.util
import os
import sys
import tempfile
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from jobs import EXAMPLES, PACKAGE
from test_recording import lines_of, of_kind

sys.path[:0] = [PACKAGE, EXAMPLES]

import ringscope  # noqa: E402
from ringscope._hashing import gridsum64  # noqa: E402
from tiny_llama import TinyLlama, VOCABULARY  # noqa: E402

BATCH, HEADS, TOKENS, SIZE = 2, 4, 200, 64
BACKENDS = {
    SDPBackend.FLASH_ATTENTION: "aten::_scaled_dot_product_flash_attention",
    SDPBackend.EFFICIENT_ATTENTION: "aten::_scaled_dot_product_efficient_attention",
    SDPBackend.CUDNN_ATTENTION: "aten::_scaled_dot_product_cudnn_attention",
}


def causal(batch, head, row, key):
    return row >= key


def inputs(tokens=TOKENS, heads=HEADS):
    torch.manual_seed(0)
    shape = (BATCH, heads, tokens, SIZE)
    return [torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]


def attend(attention):
    """Returns out and the gradients of q, k and v."""
    q, k, v = inputs()
    out = attention(q, k, v)
    out.square().sum().backward()
    return out.detach(), q.grad, k.grad, v.grad


def exact_lse():
    q, k, _ = (t.detach().double() for t in inputs())
    scores = q @ k.mT * SIZE**-0.5
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf")).logsumexp(-1)


@unittest.skipUnless(torch.cuda.is_available(), "this machine has no CUDA device")
class OnAGpu(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.addCleanup(ringscope.stop)
        self.folder = os.path.join(place.name, "run1")
        warnings.simplefilter("ignore")

    def recorded(self, job, model=None, **options):
        with ringscope.record(self.folder, model=model or nn.Linear(2, 2), **options):
            self.results = job()
        self.lines = lines_of(self.folder)
        self.assertEqual(of_kind(self.lines, "trouble"), [])
        return of_kind(self.lines, "attention")

    def tensor(self, what):
        return next(line for line in of_kind(self.lines, "tensor") if line["what"] == what)

    def same(self, attention):
        """Runs one attention, forward and backward, and checks that its bits are the same as without a recording."""
        plain = attend(attention)
        forward, backward = self.recorded(lambda: attend(attention))
        for what, one, other in zip(("out", "dq", "dk", "dv"), plain, self.results):
            self.assertTrue(torch.equal(one, other), what)
            self.assertEqual(self.tensor(what)["hash"], f"{gridsum64(one):016x}", what)
        self.assertEqual(backward["forward_call"], forward["call"])
        return forward

    def test_each_operator_has_its_tensors_and_their_lse(self):
        for backend, name in BACKENDS.items():
            with self.subTest(name):
                self.folder += name[-20:]

                def attention(q, k, v):
                    with sdpa_kernel(backend):
                        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

                forward = self.same(attention)
                self.assertTrue(forward["operator"].startswith(name), forward["operator"])
                self.assertEqual((forward["causal"], forward["masked"]), (True, False))
                lse, exact = self.tensor("lse"), exact_lse()
                self.assertEqual(lse["shape"], [BATCH, HEADS, TOKENS])
                self.assertEqual(lse["dtype"], "float32")
                for statistic, value in (("mean", exact.mean()), ("min", exact.min()), ("max", exact.max())):
                    self.assertAlmostEqual(lse["stats"][statistic], value.item(), places=2)

    def test_math_is_followed_through_its_backward(self):
        def attention(q, k, v):
            with sdpa_kernel(SDPBackend.MATH):
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        self.assertTrue(self.same(attention)["operator"].startswith("aten::_scaled_dot_product_attention_math"))

    def test_flex_attention_is_seen_where_it_is_compiled_to_a_kernel(self):
        compiled = torch.compile(flex_attention)
        blocks = create_block_mask(causal, None, None, TOKENS, TOKENS, "cuda")
        forward = self.same(lambda q, k, v: compiled(q, k, v, block_mask=blocks))
        self.assertTrue(forward["flex"]["compiled"])
        self.assertEqual(forward["flex"]["mask"]["kind"], "causal")

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "Transformers is not installed")
    def test_flex_attention_is_seen_in_models_of_transformers_which_compile_it(self):
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            vocab_size=128,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            attn_implementation="flex_attention",
        )
        model = LlamaForCausalLM(config).cuda()
        ids = torch.randint(0, 128, (1, 256), device="cuda")
        lines = self.recorded(lambda: model(input_ids=ids, labels=ids).loss.backward(), model)
        self.assertEqual([line["direction"] for line in lines], ["forward"] * 2 + ["backward"] * 2)
        self.assertEqual([line["layer"] for line in lines], [0, 1, 1, 0])
        for line in lines[:2]:
            self.assertTrue(line["flex"]["compiled"])
            self.assertEqual(line["flex"]["mask"]["kind"], "causal")
            self.assertTrue(line["flex"]["shares_kv_heads"])

    def test_times_are_those_of_the_work_and_not_of_asking_for_it(self):
        q, k, v = (t.detach() for t in inputs(tokens=32768, heads=16))
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(2):
            begin.record()
            F.scaled_dot_product_attention(q, k, v)
            end.record()
        torch.cuda.synchronize()
        taken_ns = begin.elapsed_time(end) * 1e6
        (forward,) = self.recorded(lambda: F.scaled_dot_product_attention(q, k, v), values="none")
        self.assertGreater(forward["end_ns"] - forward["begin_ns"], 0.7 * taken_ns)

    def test_a_cuda_graph_is_captured_as_without_a_recording_and_said_to_be_unseen(self):
        q, k, v = (t.detach() for t in inputs())
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            plain = F.scaled_dot_product_attention(q, k, v)
        torch.cuda.synchronize()

        def job():
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                out = F.scaled_dot_product_attention(q, k, v)
            graph.replay()
            torch.cuda.synchronize()
            return out

        self.assertEqual(self.recorded(job), [])
        self.assertTrue(torch.equal(self.results, plain))
        self.assertEqual(sum("CUDA graph" in line["why"] for line in of_kind(self.lines, "limit")), 1)

    def test_over_nccl_what_is_not_to_be_waited_for_is_recorded(self):
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
        torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        numbers = torch.arange(4.0, device="cuda")

        def job():
            torch.distributed.all_reduce(numbers)
            torch.distributed.all_reduce(numbers, async_op=True).wait()
            return numbers.tolist()

        self.recorded(job)
        self.assertEqual(self.results, [0, 1, 2, 3])
        lines = of_kind(self.lines, "collective")
        self.assertEqual([line["operator"] for line in lines], ["all_reduce"] * 2)
        self.assertEqual(len(of_kind(self.lines, "waited")), 1)

    def test_a_training_step_computes_the_same_loss_and_memory_is_the_allocators(self):
        torch.set_default_device("cuda")
        self.addCleanup(torch.set_default_device, None)

        def train():
            torch.manual_seed(1)
            model = TinyLlama()
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
            ids = torch.randint(0, VOCABULARY, (2, 64))
            positions = torch.arange(64).expand(2, -1)
            losses = []
            for _ in range(3):
                logits = model(ids, positions)
                loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten())
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
            return losses

        plain = train()
        with ringscope.record(self.folder):
            self.results = train()
        self.lines = lines_of(self.folder)
        self.assertEqual(of_kind(self.lines, "trouble"), [])
        for one, other in zip(plain, self.results):
            self.assertAlmostEqual(one, other, places=4)
        device = [line["device"] for line in of_kind(self.lines, "memory") if line["device"]]
        self.assertTrue(all(0 < d["allocated"] <= d["most_allocated"] <= d["reserved"] for d in device), device)
        self.assertTrue(any(line["what"] == "grad" for line in of_kind(self.lines, "tensor")))


if __name__ == "__main__":
    unittest.main()
