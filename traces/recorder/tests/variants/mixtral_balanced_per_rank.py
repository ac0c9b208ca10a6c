# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: every rank adds all of its load-balancing loss, and the gradients are summed.

    torchrun --nproc-per-node 2 mixtral_balanced_per_rank.py [FOLDER]
"""

from mixtral import main

if __name__ == "__main__":
    main(count_ranks=lambda: 1)
