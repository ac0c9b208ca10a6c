# SPDX-License-Identifier: Apache-2.0
"""A ring written by hand, as it should be, in which all ranks have as much to do.

    torchrun --nproc-per-node 4 zigzag_ring.py [FOLDER]
"""

from hand_job import run
from hand_ring import ZigzagRing

if __name__ == "__main__":
    run(ZigzagRing)
