# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the kernel returns a base-2 logarithm, which is merged as a natural one.

    torchrun --nproc-per-node 2 lse_base2.py [FOLDER]
"""

import math

from hand_job import run
from hand_ring import Ring


class Base2(Ring):
    def attend(self, q, k, v, causal):
        out, lse = super().attend(q, k, v, causal)
        return out, lse / math.log(2)


if __name__ == "__main__":
    run(Base2)
