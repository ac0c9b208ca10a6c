# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the job means documents, but its mask is causal over the whole sequence.

    torchrun --nproc-per-node 2 flex_documents_joined.py [FOLDER]
"""

from torch.nn.attention.flex_attention import create_block_mask

import flex_documents
from flex_documents import TOKENS
from tiny_flex import causal


class Job(flex_documents.Job):
    def mask(self):
        return create_block_mask(causal, 1, 1, TOKENS, TOKENS, device="cpu")


if __name__ == "__main__":
    Job().run()
