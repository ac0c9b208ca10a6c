# SPDX-License-Identifier: Apache-2.0
"""A hand-written ring in two replicas with a batch each, without mistakes.

    torchrun --nproc-per-node 4 ring_dp.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring

if __name__ == "__main__":
    run(Ring, dp=2)
