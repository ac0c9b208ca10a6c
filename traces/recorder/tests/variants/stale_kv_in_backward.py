# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: backward uses its own saved k and v at every ring step instead of the received ones.

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
