# SPDX-License-Identifier: Apache-2.0
"""A hand-written ring over contiguous shards, without mistakes.

    torchrun --nproc-per-node 2 ring.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring

if __name__ == "__main__":
    run(Ring)
