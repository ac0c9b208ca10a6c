# SPDX-License-Identifier: Apache-2.0
"""Attention of DTensors during a recording, and of tensors without data."""

import os
import sys
import tempfile
import unittest

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from jobs import PACKAGE
from test_recording import lines_of, of_kind

sys.path.insert(0, PACKAGE)

import ringscope  # noqa: E402


class OfDTensors(unittest.TestCase):
    def setUp(self):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        self.mesh = init_device_mesh("cpu", (1,))

    def attend(self, backend):
        """Returns out and the gradient of q, which is cut by heads."""
        torch.manual_seed(0)
        q = distribute_tensor(torch.randn(1, 4, 16, 8), self.mesh, [Shard(1)]).requires_grad_()
        with sdpa_kernel(backend):
            out = F.scaled_dot_product_attention(q, q, q)
        out.square().sum().backward()
        return out.detach().to_local(), q.grad.to_local()

    def test_math_attention_has_the_same_result_and_gradients(self):
        plain = self.attend(SDPBackend.MATH)
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run1")
            with ringscope.record(folder, model=nn.Linear(2, 2)):
                recorded = self.attend(SDPBackend.MATH)
            self.assertEqual(of_kind(lines_of(folder), "trouble"), [])
        for one, other in zip(plain, recorded):
            self.assertTrue(torch.equal(one, other))

    def test_shapes_that_pytorch_only_works_out_are_no_attention(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, "run1")
            with ringscope.record(folder, model=nn.Linear(2, 2)):
                q = torch.randn(1, 4, 16, 8)
                with FakeTensorMode(allow_non_fake_inputs=True):
                    F.scaled_dot_product_attention(torch.empty(1, 4, 16, 8), q, q)
                F.scaled_dot_product_attention(q.to("meta"), q.to("meta"), q.to("meta"))
                F.scaled_dot_product_attention(q, q, q)
            self.assertEqual(len(of_kind(lines_of(folder), "attention")), 1)


if __name__ == "__main__":
    unittest.main()
