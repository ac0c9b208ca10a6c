// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ringscope::traces {

/// Returns a recorded value, such as a token or a position id, as an integer. Drops a fraction,
/// clamps the value to ±2⁵³, beyond which a double cannot hold every integer, and maps NaN to −2⁵³.
inline std::int64_t wholeNumber(double value) {
  constexpr double kLimit = 9007199254740992.0;
  if (std::isnan(value)) return -static_cast<std::int64_t>(kLimit);
  return static_cast<std::int64_t>(std::clamp(value, -kLimit, kLimit));
}

}  // namespace ringscope::traces
