# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the model has a window of 16 tokens, but the mask function of flex_attention is causal.

    torchrun --nproc-per-node 2 flex_window_dropped.py [FOLDER]
"""

from hand_job import MEANT, run
from tiny_flex import FlexUlysses

if __name__ == "__main__":
    run(FlexUlysses, meant={**MEANT, "mask": "window", "window": 16})
