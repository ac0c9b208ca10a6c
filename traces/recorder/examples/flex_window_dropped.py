# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the model has a window of 16 tokens, and the mask function that flex_attention gets is the
causal one.

    torchrun --nproc-per-node 2 flex_window_dropped.py [FOLDER]
"""

from hand_job import MEANT, run
from tiny_flex import FlexUlysses

if __name__ == "__main__":
    run(FlexUlysses, meant={**MEANT, "mask": "window", "window": 16})
