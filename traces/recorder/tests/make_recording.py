# SPDX-License-Identifier: Apache-2.0
"""Makes the recording that the importer's tests read: 16 tokens, one training step, two ranks, and position ids that
were not cut.

    torchrun --nproc-per-node 2 make_recording.py tests/reference/recording
"""

import os
import sys

import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.tensor.experimental import context_parallel

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples")]

import ringscope  # noqa: E402
import ringscope._writer  # noqa: E402
from tiny_llama import VOCABULARY, begin, folder, make_batch, sum_gradients  # noqa: E402

MEANT = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}


def main():
    ringscope._writer._boot_id = lambda: "of no machine"
    mesh, model, optimizer = begin()
    input_ids, labels = make_batch(0, tokens=16)
    with ringscope.record(folder(), model=model, declare=MEANT):
        with context_parallel(mesh, buffers=[input_ids, labels], buffer_seq_dims=[1, 1]):
            logits = model(input_ids)
            loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1), reduction="sum")
            loss = loss / 16
            loss.backward()
        logged = loss.detach().clone()
        dist.all_reduce(logged, group=mesh.get_group())
        ringscope.log(loss=logged)
        sum_gradients(model, mesh.get_group())
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
