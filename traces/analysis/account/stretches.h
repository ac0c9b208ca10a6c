// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "traces/analysis/account/time_folds.h"

namespace ringscope::traces {

/// Stretches of one rank's time.
using Stretches = std::vector<TimeFold>;

/// Sorts stretches and joins those that overlap.
inline Stretches joined(Stretches all) {
  std::ranges::sort(all, {}, &TimeFold::begin_ns);
  Stretches out;
  for (const TimeFold& each : all) {
    if (!out.empty() && each.begin_ns <= out.back().end_ns)
      out.back().end_ns = std::max(out.back().end_ns, each.end_ns);
    else
      out.push_back(each);
  }
  return out;
}

inline std::int64_t totalLength(const Stretches& all) {
  std::int64_t sum = 0;
  for (const TimeFold& each : all) sum += each.length();
  return sum;
}

/// Returns the length that `a` and `b` have in common. Both must be joined.
inline std::int64_t common(const Stretches& a, const Stretches& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum += std::max<std::int64_t>(
        0, std::min(a[i].end_ns, b[k].end_ns) - std::max(a[i].begin_ns, b[k].begin_ns));
    a[i].end_ns < b[k].end_ns ? ++i : ++k;
  }
  return sum;
}

/// Returns the parts of `a` that lie in `b`. Both must be joined.
inline Stretches within(const Stretches& a, const Stretches& b) {
  Stretches out;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const std::int64_t begin = std::max(a[i].begin_ns, b[k].begin_ns),
                       end = std::min(a[i].end_ns, b[k].end_ns);
    if (end > begin) out.push_back({begin, end});
    a[i].end_ns < b[k].end_ns ? ++i : ++k;
  }
  return out;
}

/// Returns the parts of `a` that do not lie in `b`. Both must be joined.
inline Stretches without(const Stretches& a, const Stretches& b) {
  Stretches out;
  std::size_t k = 0;
  for (const TimeFold& each : a) {
    std::int64_t begin = each.begin_ns;
    while (k < b.size() && b[k].end_ns <= begin) ++k;
    for (std::size_t i = k; i < b.size() && b[i].begin_ns < each.end_ns; ++i) {
      if (b[i].begin_ns > begin) out.push_back({begin, b[i].begin_ns});
      begin = std::max(begin, b[i].end_ns);
    }
    if (each.end_ns > begin) out.push_back({begin, each.end_ns});
  }
  return out;
}

}  // namespace ringscope::traces
