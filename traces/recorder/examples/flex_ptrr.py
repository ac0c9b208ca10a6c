# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functional interface with flex_attention and its load balancer by processing time (PTRR), which deals
blocks of 128 tokens.

    torchrun --nproc-per-node 2 flex_ptrr.py [FOLDER]
"""

import torch
from torch.distributed.tensor.experimental._context_parallel import _load_balancer as balancers
from torch.nn.attention.flex_attention import create_block_mask

import flex_documents
from flex_documents import TOKENS
from tiny_flex import causal
from tiny_llama import make_batch


class Job(flex_documents.Job):
    meant = {"mask": "causal", "positions": "whole_sequence", "loss": "mean_over_targets"}

    def batch(self, step):
        input_ids, labels = make_batch(step, TOKENS)
        return {"input_ids": input_ids, "labels": labels, "position_ids": torch.arange(TOKENS)[None]}

    def mask(self):
        return create_block_mask(causal, 1, 1, TOKENS, TOKENS, device="cpu")

    def balancer(self, mask):
        return balancers._PTRRLoadBalancer(mask, self.mesh.size())


if __name__ == "__main__":
    Job().run()
