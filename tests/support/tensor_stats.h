// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "traces/format/schema/records.h"

namespace ringscope::test {

/// Returns the statistics that a recorder would write for these values.
inline traces::TensorStats computeStats(const std::vector<double>& values) {
  traces::TensorStats stats;
  std::vector<double> finite;
  for (const double v : values) {
    stats.nan += std::isnan(v);
    stats.inf += std::isinf(v);
    if (std::isfinite(v)) finite.push_back(v);
  }
  if (finite.empty()) return stats;
  stats.min = *std::min_element(finite.begin(), finite.end());
  stats.max = *std::max_element(finite.begin(), finite.end());
  for (const double v : finite) stats.mean += v / static_cast<double>(finite.size());
  stats.abs_max = std::max(std::abs(stats.min), std::abs(stats.max));
  return stats;
}

}  // namespace ringscope::test
