// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ringscope::traces {

/// Returns a ÷ b, rounded towards −∞; the operator / rounds towards 0. b must not be 0.
constexpr std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// Returns the smallest multiple of `unit` that is at least `length`. Neither is negative.
constexpr std::int64_t roundUp(std::int64_t length, std::int64_t unit) {
  return (length + unit - 1) / unit * unit;
}

}  // namespace ringscope::traces
