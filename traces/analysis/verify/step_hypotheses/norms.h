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

/// Returns the norms that count replicas of a mesh: those of its cp, dp and dp × cp ranks, which
/// hold the same gradients after the sync, and those that tp ranks hold alike, if there are any.
std::vector<CountedNorm> normsOfReplicas(const RunSpec& run, const GradientNorms& norms);

}  // namespace ringscope::traces
