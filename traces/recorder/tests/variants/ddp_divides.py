# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the loss of each rank is its part of the mean over all targets, but DDP averages the ranks'
gradients too. They are too small by the number of ranks.

    torchrun --nproc-per-node 2 ddp_divides.py [FOLDER]
"""

from tiny_sharded import replicate, run

if __name__ == "__main__":
    run(replicate, factor=1, values="all")
