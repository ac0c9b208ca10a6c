// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace ringscope::viz {

/// 1, 2 or 5 times a power of ten, and no less than `least`.
inline double roundInterval(double least) {
  const double power = std::pow(10, std::floor(std::log10(std::max(least, 1e-300))));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= least * 0.999) return times * power;
  return 10 * power;
}

/// The multiples of a round interval from `low` to `high`, at most `most` and one.
inline std::vector<double> roundTicks(double low, double high, int most) {
  std::vector<double> ticks;
  if (!(high > low)) return ticks;
  const double between = roundInterval((high - low) / most);
  const double first = std::ceil(low / between - 1e-9);
  for (int i = 0; i <= most && (first + i) * between <= high + 1e-9 * between; ++i)
    ticks.push_back((first + i) * between);
  return ticks;
}

}  // namespace ringscope::viz
