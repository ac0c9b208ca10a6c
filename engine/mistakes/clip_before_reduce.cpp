// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Each rank clips by the norm of its own gradients before they are summed. Where neither these nor
/// the sum are longer than the limit, nothing is clipped either way.
void injectClipBeforeReduce(Seams& seams) {
  const auto changed = watchedFlag(seams, "clip_before_reduce");
  extend(seams.gradients.local, [changed](const SeamPlace&, at::Tensor& flat, double max_norm) {
    const double norm = flat.to(at::kDouble).norm().item<double>();
    const double coefficient = std::min(1.0, max_norm / (norm + 1e-6));
    if (coefficient < 1) *changed = true;
    flat.mul_(coefficient);
  });
  seams.gradients.clip = [changed](const SeamPlace&, Gradients&, double norm, double max_norm) {
    if (max_norm / (norm + 1e-6) < 1) *changed = true;
  };
}

}  // namespace ringscope::engine
