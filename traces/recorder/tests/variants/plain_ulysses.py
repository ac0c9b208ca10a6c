# SPDX-License-Identifier: Apache-2.0
"""Ulysses all-to-alls without annotations, without mistakes.

    torchrun --nproc-per-node 2 plain_ulysses.py [FOLDER]
"""

from hand_unannotated import run
from ulysses import Ulysses

if __name__ == "__main__":
    run(Ulysses)
