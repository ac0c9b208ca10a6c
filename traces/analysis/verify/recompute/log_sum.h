// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace ringscope::traces {

/// Returns log(exp(a) + exp(b)); −∞ stands for the logarithm of 0.
inline double logOfSum(double a, double b) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  if (a == kNothing || b == kNothing) return std::max(a, b);
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace ringscope::traces
