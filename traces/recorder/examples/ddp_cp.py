# SPDX-License-Identifier: Apache-2.0
"""DDP around a model under context_parallel, without mistakes. DDP averages gradients over dp × cp, and the loss is
multiplied by the number of these ranks, so gradients are summed.

    torchrun --nproc-per-node 4 ddp_cp.py [FOLDER]
"""

import os

from tiny_sharded import replicate, run

if __name__ == "__main__":
    run(replicate, dp=int(os.environ["WORLD_SIZE"]) // 2, values="all")
