// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Each rank takes the mean over its own targets, and the ranks the mean of those.
void injectMeanOfLocalMeans(Seams& seams) {
  seams.loss.reduce = [](const SeamPlace&, MeshGroups& groups, const LocalLoss& local) {
    const double own_scale = local.targets > 0 ? 1.0 / static_cast<double>(local.targets) : 0.0;
    at::Tensor totals =
        at::tensor({local.sum * own_scale, static_cast<double>(local.targets)}, at::kDouble);
    groups.dpCp().allReduceSum(totals, traces::Payload::kScalars);
    const double ranks = groups.dpCp().size();
    return ReducedLoss{totals[0].item<double>() / ranks,
                       static_cast<std::int64_t>(totals[1].item<double>()), own_scale / ranks};
  };
}

}  // namespace ringscope::engine
