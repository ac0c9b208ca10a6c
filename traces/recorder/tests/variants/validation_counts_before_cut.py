# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the validation divides by targets that were counted before the cut, and averages over the ranks.

    torchrun --nproc-per-node 2 validation_counts_before_cut.py [FOLDER]
"""

import torch.distributed as dist

from validation import main


def mean_of_ranks(loss, own, whole, group):
    mean = loss / whole
    dist.all_reduce(mean, group=group)
    return mean / dist.get_world_size(group)


if __name__ == "__main__":
    main(mean_of_ranks)
