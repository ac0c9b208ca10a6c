# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: the batch is cut by the PTRR balancer, but the mask is cut into contiguous parts.

    torchrun --nproc-per-node 2 flex_mask_not_balanced.py [FOLDER]
"""

import flex_ptrr


class Job(flex_ptrr.Job):
    def cut(self, buffers, mask, balancer):
        in_order = super().cut({}, mask, None)
        return {**super().cut(buffers, mask, balancer), **in_order}


if __name__ == "__main__":
    Job().run()
