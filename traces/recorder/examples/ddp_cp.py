# SPDX-License-Identifier: Apache-2.0
"""DDP around a model under context_parallel, as it should be: gradients are summed over dp × cp, since the
loss is multiplied by the ranks over whose gradients DDP takes the mean.

    torchrun --nproc-per-node 4 ddp_cp.py [FOLDER]
"""

import os

from tiny_sharded import replicate, run

if __name__ == "__main__":
    run(replicate, dp=int(os.environ["WORLD_SIZE"]) // 2, values="all")
