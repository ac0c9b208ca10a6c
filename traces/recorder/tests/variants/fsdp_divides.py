# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the loss of each rank is its part of the mean over all targets, but FSDP2 averages the ranks'
gradients too. They are too small by the number of ranks.

    torchrun --nproc-per-node 2 fsdp_divides.py [FOLDER]
"""

from tiny_sharded import shard, run

if __name__ == "__main__":
    run(shard, factor=1, values="all")
