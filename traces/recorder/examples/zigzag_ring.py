# SPDX-License-Identifier: Apache-2.0
"""A hand-written zigzag ring in which all ranks have equal work, without mistakes.

    torchrun --nproc-per-node 4 zigzag_ring.py [FOLDER]
"""

from hand_job import run
from hand_ring import ZigzagRing

if __name__ == "__main__":
    run(ZigzagRing)
