// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The running out and lse are kept in bf16 from one block to the next.
void injectLseLowPrecision(Seams& seams) {
  extend(seams.attention.running, [](const SeamPlace&, RunningResult& running) {
    for (at::Tensor* kept : {&running.out, &running.lse})
      *kept = kept->to(at::kBFloat16).to(kept->scalar_type());
  });
}

}  // namespace ringscope::engine
