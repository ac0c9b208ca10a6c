// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/gradient_norm.h"

namespace ringscope::traces {

/// A gradient norm that counts something more than once.
struct CountedNorm {
  double norm = 0;
  std::string what;  ///< "what tp ranks hold alike once for each of them"
};

/// Those of a mesh: of its cp, dp and dp × cp ranks, which hold the same gradients after the sync,
/// and of what tp ranks hold alike, where there is anything.
std::vector<CountedNorm> normsOfReplicas(const RunSpec& run, const GradientNorms& norms);

}  // namespace ringscope::traces
