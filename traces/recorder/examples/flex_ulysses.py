# SPDX-License-Identifier: Apache-2.0
"""flex_attention with a causal mask between the all-to-alls of Ulysses, without mistakes.

    torchrun --nproc-per-node 2 flex_ulysses.py [FOLDER]
"""

from hand_job import run
from tiny_flex import FlexUlysses

if __name__ == "__main__":
    run(FlexUlysses)
