# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: labels are cut into contiguous parts, and everything else by the PTRR balancer.

    torchrun --nproc-per-node 2 flex_labels_not_balanced.py [FOLDER]
"""

import flex_ptrr


class Job(flex_ptrr.Job):
    def cut(self, buffers, mask, balancer):
        labels = {"labels": buffers.pop("labels")}
        in_order = super().cut(labels, mask, None)
        return {**in_order, **super().cut(buffers, mask, balancer)}


if __name__ == "__main__":
    Job().run()
