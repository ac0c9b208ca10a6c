# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: backward takes the k and v that were saved at every ring step, not those that arrive.

    torchrun --nproc-per-node 2 stale_kv_in_backward.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring


class StaleInBackward(Ring):
    def next_kv_in_backward(self, kv):
        self.pass_on(kv)
        return kv


if __name__ == "__main__":
    run(StaleInBackward)
