// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "viz/maths/time_folds.h"

namespace ringscope::viz {

/// Stretches of one rank's time.
using Stretches = std::vector<TimeFold>;

/// Joins what overlaps.
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

inline std::int64_t lengthOf(const Stretches& all) {
  std::int64_t sum = 0;
  for (const TimeFold& each : all) sum += each.length();
  return sum;
}

/// How much of `a` lies in `b`; both joined.
inline std::int64_t common(const Stretches& a, const Stretches& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum += std::max<std::int64_t>(
        0, std::min(a[i].end_ns, b[k].end_ns) - std::max(a[i].begin_ns, b[k].begin_ns));
    a[i].end_ns < b[k].end_ns ? ++i : ++k;
  }
  return sum;
}

}  // namespace ringscope::viz
