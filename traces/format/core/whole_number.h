// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ringscope::traces {

/// A recorded value as a whole number: a token or a position id. What is none, or is too large for
/// a double to tell from its neighbours, becomes the nearest that is; NaN becomes −2⁵³.
inline std::int64_t wholeNumber(double value) {
  constexpr double kLimit = 9007199254740992.0;
  if (std::isnan(value)) return -static_cast<std::int64_t>(kLimit);
  return static_cast<std::int64_t>(std::clamp(value, -kLimit, kLimit));
}

}  // namespace ringscope::traces
