# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: FSDP2 is given the dp axis of the mesh alone, so ranks of one cp group step by the
gradients of their own tokens.

    torchrun --nproc-per-node 4 fsdp_over_dp.py [FOLDER]
"""

from tiny_sharded import shard, run

if __name__ == "__main__":
    run(shard, dp=2, over=("dp",))
