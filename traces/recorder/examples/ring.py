# SPDX-License-Identifier: Apache-2.0
"""A ring written by hand, as it should be, over contiguous shards.

    torchrun --nproc-per-node 2 ring.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring

if __name__ == "__main__":
    run(Ring)
