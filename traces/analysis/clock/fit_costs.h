// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace ringscope::traces {

inline constexpr std::size_t kCostParts = 7;
/// How much was done of each part, or what each takes in seconds.
using CostParts = std::array<double, kCostParts>;

struct CostSample {
  CostParts parts{};
  double seconds = 0;
};

/// What such parts take together.
double secondsOf(const CostParts& cost, const CostParts& parts);

/// The costs, none below 0, from which the samples' times are off by the smallest shares of what
/// they are thought to take, in squares. Samples that took no time are passed over; without any all
/// is 0.
CostParts fitCosts(const std::vector<CostSample>& samples);

}  // namespace ringscope::traces
