// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Gradients are reduced over dp alone, so each cp rank keeps those of its own tokens.
void injectMissingCpGradReduce(Seams& seams) {
  seams.gradients.reduce = [](const SeamPlace&, MeshGroups& groups, at::Tensor& flat) {
    if (groups.dp().size() > 1) groups.dp().allReduceSum(flat, traces::Payload::kGrads);
  };
}

}  // namespace ringscope::engine
