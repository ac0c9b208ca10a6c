# SPDX-License-Identifier: Apache-2.0
"""PyTorch's plan for modules with flex_attention. Each rank gathers all keys and values. PyTorch converts the job's
mask into one that knows the rank's rows.

    torchrun --nproc-per-node 2 module_plan_flex.py [FOLDER]
"""

from torch import nn
from torch.distributed.tensor.experimental._context_parallel import _attention as context_parallel
from torch.distributed.tensor.parallel import parallelize_module
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import ringscope
from module_plan import MEANT, train
from tiny_flex import allow_backward_on_cpu, causal
from tiny_llama import finish, folder, join, make_model

TOKENS = 256  # PyTorch needs blocks of 128 on each rank


class Attention(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def forward(self, query, key, value):
        """Attends query, [B, H, S, D] cut along S, to whole key and value."""
        return flex_attention(query, key, value, block_mask=self.blocks)


def begin():
    """Returns the cp mesh, the model and its optimizer."""
    allow_backward_on_cpu()
    context_parallel._compiled_create_block_mask = create_block_mask  # compiling it takes half a minute on a CPU
    mesh = join()["cp"]
    attention = Attention(context_parallel._create_cp_block_mask(causal, 1, 1, TOKENS, TOKENS, mesh))
    kind = context_parallel._ContextParallel
    parallelize_module(attention, mesh, kind(seq_dim=2, attention_type=kind.AttentionType.FLEX))
    return (mesh, *make_model(attention))


def main():
    mesh, model, optimizer = begin()
    with ringscope.record(folder(), model=model, steps=range(2), declare=MEANT):
        losses = train(mesh, model, optimizer, TOKENS)
    finish(model, losses)


if __name__ == "__main__":
    main()
