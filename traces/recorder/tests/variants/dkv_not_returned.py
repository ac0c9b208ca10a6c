# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: dK and dV make as many hops as KV, one too few to return to their owners.

    torchrun --nproc-per-node 2 dkv_not_returned.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring


class OneHopShort(Ring):
    def next_dkv(self, dkv, step):
        return dkv if step + 1 == self.size else self.pass_on(dkv)


if __name__ == "__main__":
    run(OneHopShort)
