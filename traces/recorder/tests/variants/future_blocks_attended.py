# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: blocks of later tokens are attended instead of skipped.

    torchrun --nproc-per-node 2 future_blocks_attended.py [FOLDER]
"""

from hand_job import run
from hand_ring import Ring


class SeesTheFuture(Ring):
    def pieces(self, source, rows):
        return [((0, rows), (0, rows), source == self.rank)]


if __name__ == "__main__":
    run(SeesTheFuture)
