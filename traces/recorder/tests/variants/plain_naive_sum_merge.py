# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose, and without annotations: block outputs are added without the weights of their log-sum-exps.

    torchrun --nproc-per-node 2 plain_naive_sum_merge.py [FOLDER]
"""

from hand_unannotated import run
from naive_sum_merge import NaiveSum

if __name__ == "__main__":
    run(NaiveSum)
