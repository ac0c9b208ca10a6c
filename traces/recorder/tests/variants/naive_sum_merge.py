# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: block outputs are added without the weights of their log-sum-exps.

    torchrun --nproc-per-node 2 naive_sum_merge.py [FOLDER]
"""

import torch

from hand_job import run
from hand_ring import Ring


class NaiveSum(Ring):
    def merge(self, out, lse, block_out, block_lse):
        return out + block_out, torch.logaddexp(lse, block_lse)


if __name__ == "__main__":
    run(NaiveSum)
