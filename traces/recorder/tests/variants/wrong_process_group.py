# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the ring includes all ranks of a dp × cp job instead of the cp ranks.

    torchrun --nproc-per-node 4 wrong_process_group.py [FOLDER]
"""

import torch.distributed as dist

from hand_job import run
from hand_ring import Ring

if __name__ == "__main__":
    run(Ring, dp=2, group_of=lambda mesh: dist.group.WORLD)
