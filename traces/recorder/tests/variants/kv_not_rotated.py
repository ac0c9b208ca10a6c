# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: received KV is dropped, so each rank attends its own block at every step.

    torchrun --nproc-per-node 2 kv_not_rotated.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring


class NeverSwapped(Ring):
    def next_kv(self, kv):
        self.pass_on(kv)
        return kv

    next_kv_in_backward = next_kv


if __name__ == "__main__":
    run(NeverSwapped)
