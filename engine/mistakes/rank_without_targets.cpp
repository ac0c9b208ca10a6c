// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// A rank has a long prompt and no target, and divides by its own targets before the means are put
/// together.
void injectRankWithoutTargets(Seams& seams) {
  extend(seams.buffers.sharded,
         [](const SeamPlace&, Batch& local) { local.labels = at::full_like(local.labels, -100); });
  seams.loss.reduce = [](const SeamPlace& at, MeshGroups& groups, const LocalLoss& local) {
    const auto own = static_cast<double>(local.targets);
    const ReducedLoss of_all =
        LossSeams::meanOverTargets(at, groups, {local.sum / own * own, local.targets});
    return ReducedLoss{of_all.loss, of_all.targets, 1.0 / own * (own * of_all.scale)};
  };
}

}  // namespace ringscope::engine
