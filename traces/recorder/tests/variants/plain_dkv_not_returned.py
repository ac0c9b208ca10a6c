# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose, and without annotations: dK and dV make one hop too few to return to their owners.

    torchrun --nproc-per-node 2 plain_dkv_not_returned.py [FOLDER]
"""

from hand_unannotated import run
from dkv_not_returned import OneHopShort

if __name__ == "__main__":
    run(OneHopShort)
