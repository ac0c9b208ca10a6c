# SPDX-License-Identifier: Apache-2.0
"""Makes the recording of a hand-written ring that the importer's tests read: 16 tokens, one training step, two ranks,
no mistake.

    torchrun --nproc-per-node 2 make_hand_recording.py tests/reference/hand_recording
"""

import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples")]

import ringscope._writer  # noqa: E402
from hand_job import run  # noqa: E402
from hand_ring import Ring  # noqa: E402

if __name__ == "__main__":
    ringscope._writer._boot_id = lambda: "of no machine"
    run(Ring, steps=1, length=16)
