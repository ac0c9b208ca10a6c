# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: DDP is given the group of dp alone, so ranks of one cp group step by the gradients of
their own tokens.

    torchrun --nproc-per-node 4 ddp_over_dp.py [FOLDER]
"""

from tiny_sharded import replicate, run

if __name__ == "__main__":
    run(replicate, dp=2, over=("dp",))
