// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "viz/maths/time_window.h"

namespace ringscope::viz {

struct RulerTick {
  double x = 0;
  std::string label;
};

/// Returns the ticks of a ruler with words that differ at every zoom: times since `origin_ns`. If
/// those are too long, the first is in full, and the others are distances from it.
std::vector<RulerTick> rulerTicks(const WindowScale& scale, double origin_ns);

/// A time with as many digits as tell it from its neighbours `step_ns` away: "3.211484 s".
std::string describeTime(double ns, double step_ns);

}  // namespace ringscope::viz
