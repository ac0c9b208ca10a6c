# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: position ids are not cut, so each rank counts its own tokens from 0.

    torchrun --nproc-per-node 2 flex_no_position_ids.py [FOLDER]
"""

import flex_ptrr


class Job(flex_ptrr.Job):
    def cut(self, buffers, mask, balancer):
        del buffers["position_ids"]
        return super().cut(buffers, mask, balancer)


if __name__ == "__main__":
    Job().run()
