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

/// Returns the norms that count replicas of a mesh more than once. After the sync, its cp, dp and
/// dp × cp ranks hold the same gradients. If tp ranks hold parameters alike, these are replicas
/// too.
std::vector<CountedNorm> normsOfReplicas(const RunSpec& run, const GradientNorms& norms);

}  // namespace ringscope::traces
