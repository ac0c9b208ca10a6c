# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: QK-clip takes each rank's own largest score, so that replicas of the weights drift.

    torchrun --nproc-per-node 2 maximum_not_reduced.py [FOLDER]
"""

from qk_clip import main

if __name__ == "__main__":
    main(reduce=lambda most, group: None)
