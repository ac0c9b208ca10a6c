// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ringscope::viz {

/// Time ↔ pixel of one timeline.
struct TimeScale {
  std::int64_t begin_ns = 0, end_ns = 1;
  double left = 0, width = 1;

  double x(std::int64_t ns) const {
    return left +
           width * static_cast<double>(ns - begin_ns) / static_cast<double>(end_ns - begin_ns);
  }
  std::int64_t ns(double pixel) const {
    return begin_ns + static_cast<std::int64_t>((pixel - left) / width *
                                                static_cast<double>(end_ns - begin_ns));
  }
  /// As many ticks as have room, and as words with one decimal tell apart.
  int ticks() const { return std::clamp(static_cast<int>(width / 90), 2, 20); }
  /// A round distance between ticks, so that there are at most `most` of them: 1, 2 or 5 times a
  /// power of 10.
  std::int64_t tick(int most) const {
    const double raw = static_cast<double>(end_ns - begin_ns) / most;
    const double power = std::pow(10.0, std::floor(std::log10(std::max(1.0, raw))));
    for (const double step : {1.0, 2.0, 5.0})
      if (power * step >= raw) return static_cast<std::int64_t>(power * step);
    return static_cast<std::int64_t>(power * 10);
  }
};

}  // namespace ringscope::viz
