# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: DDP gets the dp group only, so each rank of a cp group steps by the gradients of its own tokens.

    torchrun --nproc-per-node 4 ddp_over_dp.py [FOLDER]
"""

from tiny_sharded import replicate, run

if __name__ == "__main__":
    run(replicate, dp=2, over=("dp",))
