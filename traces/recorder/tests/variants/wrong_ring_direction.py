# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: blocks are taken for those of the next ranks, but come from the previous ones.

    torchrun --nproc-per-node 4 wrong_ring_direction.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring


class OtherWay(Ring):
    def source(self, step):
        return (self.rank + step) % self.size


if __name__ == "__main__":
    run(OtherWay)
