# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: FSDP2 gets the mesh's dp axis only, so each rank of a cp group steps by the gradients of its own
tokens.

    torchrun --nproc-per-node 4 fsdp_over_dp.py [FOLDER]
"""

from tiny_sharded import shard, run

if __name__ == "__main__":
    run(shard, dp=2, over=("dp",))
