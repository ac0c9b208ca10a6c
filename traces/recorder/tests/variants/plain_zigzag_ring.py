# SPDX-License-Identifier: Apache-2.0
"""A zigzag ring without annotations, without mistakes.

    torchrun --nproc-per-node 4 plain_zigzag_ring.py [FOLDER]
"""

from hand_unannotated import run
from hand_ring import ZigzagRing

if __name__ == "__main__":
    run(ZigzagRing)
