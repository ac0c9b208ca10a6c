# SPDX-License-Identifier: Apache-2.0
"""FSDP2 around a model under context_parallel, without mistakes. Parameters are cut over dp × cp. FSDP2 averages
gradients over these ranks, and the loss is multiplied by their number.

    torchrun --nproc-per-node 4 fsdp_cp.py [FOLDER]
"""

import os

from tiny_sharded import shard, run

if __name__ == "__main__":
    run(shard, dp=int(os.environ["WORLD_SIZE"]) // 2, values="all")
