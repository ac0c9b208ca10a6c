# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functional interface of context parallelism with flex_attention. The sequence holds documents, and the
load balancer deals each document head-tail. The mask is cut together with the batch.

    torchrun --nproc-per-node 2 flex_documents.py [FOLDER]
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor.experimental._context_parallel import _attention as context_parallel
from torch.distributed.tensor.experimental._context_parallel import _load_balancer as balancers
from torch.distributed.tensor.parallel import parallelize_module
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import ringscope
from tiny_flex import allow_backward_on_cpu
from tiny_llama import VOCABULARY, finish, folder, join, make_batch, make_model, sum_gradients

TOKENS = 1024  # PyTorch needs blocks of 128 tokens on each rank
DOCUMENTS = [256, 512, 256]  # lengths
MEANT = {"positions": "each_document", "loss": "mean_over_targets"}


class Attention(nn.Module):
    """Attention whose mask is set before each step."""

    blocks = None

    def forward(self, query, key, value):
        """Attends query, [B, H, S, D] cut along S, to whole key and value."""
        return flex_attention(query, key, value, block_mask=self.blocks)


class Job:
    """A job whose wrong cases replace its methods."""

    meant = MEANT

    def __init__(self):
        allow_backward_on_cpu()
        context_parallel._compiled_create_block_mask = create_block_mask  # compiling it takes half a minute on a CPU
        self.mesh = join()["cp"]
        self.attention = Attention()
        kind = context_parallel._ContextParallel
        plan = kind(seq_dim=2, attention_type=kind.AttentionType.FLEX)
        parallelize_module(self.attention, self.mesh, plan)
        self.model, self.optimizer = make_model(self.attention)

    def batch(self, step):
        """Returns the buffers by name. Positions begin at 0 in each document, whose last token has no target."""
        input_ids, labels = make_batch(step, TOKENS)
        labels[:, torch.tensor(DOCUMENTS).cumsum(0) - 1] = -100
        position_ids = torch.cat([torch.arange(length) for length in DOCUMENTS])[None]
        return {"input_ids": input_ids, "labels": labels, "position_ids": position_ids}

    def mask(self):
        """Returns the BlockMask of the whole sequence: causal within each document."""
        document = torch.repeat_interleave(torch.arange(len(DOCUMENTS)), torch.tensor(DOCUMENTS))

        def within_documents(batch, head, row, key):
            return (row >= key) & (document[row] == document[key])

        return create_block_mask(within_documents, 1, 1, TOKENS, TOKENS, device="cpu")

    def balancer(self, mask):
        return balancers._PerDocumentHeadTailLoadBalancer([DOCUMENTS], self.mesh.size(), "cpu")

    def cut(self, buffers, mask, balancer):
        """Returns this rank's part of each buffer, and its rows of the mask."""
        whole = {**buffers, "mask": mask}
        dims = {**dict.fromkeys(buffers, 1), "mask": 2}
        return context_parallel._context_parallel_shard(self.mesh, whole, dims, balancer)

    def train(self):
        losses = []
        for step in range(2):
            buffers = self.batch(step)
            targets = (buffers["labels"] != -100).sum()
            mask = self.mask()
            own = self.cut(buffers, mask, self.balancer(mask))
            self.attention.blocks = own["mask"]
            logits = self.model(own["input_ids"], own.get("position_ids"))
            loss = F.cross_entropy(logits.view(-1, VOCABULARY), own["labels"].reshape(-1), reduction="sum") / targets
            loss.backward()
            logged = loss.detach().clone()
            dist.all_reduce(logged, group=self.mesh.get_group())
            ringscope.log(loss=logged)
            losses.append(logged.item())
            sum_gradients(self.model, self.mesh.get_group())
            self.optimizer.step()
            self.optimizer.zero_grad()
        return losses

    def run(self):
        with ringscope.record(folder(), model=self.model, steps=range(2), declare=self.meant):
            losses = self.train()
        finish(self.model, losses)


if __name__ == "__main__":
    Job().run()
