// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace ringscope::traces {

/// A callback that receives the share of work done, 0 to 1, and returns false to stop the work. An
/// empty callback never stops it.
using GoOn = std::function<bool(double share)>;

inline bool goesOn(const GoOn& go_on, double share) {
  return !go_on || go_on(share);
}

/// Returns a callback for the part of the work from share `begin` to share `end` of the whole.
inline GoOn partFor(const GoOn& whole, double begin, double end) {
  if (!whole) return {};
  return [&whole, begin, end](double share) { return whole(begin + (end - begin) * share); };
}

}  // namespace ringscope::traces
