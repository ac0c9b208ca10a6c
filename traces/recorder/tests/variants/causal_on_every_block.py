# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the causal mask is applied within each block, as if it were the diagonal block.

    torchrun --nproc-per-node 2 causal_on_every_block.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring


class CausalEverywhere(Ring):
    def pieces(self, source, rows):
        return [(*whole, True) for *whole, _ in super().pieces(source, rows)]


if __name__ == "__main__":
    run(CausalEverywhere)
