// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/weighed_targets.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

bool areNear(const std::vector<double>& numbers, double share) {
  const auto [least, most] = std::ranges::minmax(numbers);
  return most - least <= share * std::abs(most);
}

bool hasOneWeight(const CalledLoss& call) {
  if (!call.weights || call.weighted || !(call.weights->mean > 0) ||
      !(call.weights->off <= roundingShare(call.dtype)))
    return false;
  return !call.picked ||
         areNear({call.weights->least, call.weights->most}, 4 * roundingShare(call.dtype));
}

std::string describeWeight(const Weighed& one, bool microbatches) {
  return describeSignificant(one.weight, 4) + " on rank " + toString(one.rank) +
         (microbatches ? " in microbatch " + std::to_string(one.microbatch) : "") + ", which has " +
         describeCount(static_cast<std::int64_t>(one.targets), "target");
}

}  // namespace ringscope::traces
