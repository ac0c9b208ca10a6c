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

/// Ticks of a ruler with words that tell them apart at every zoom: times since `origin_ns`, and
/// where those would be too long, the first in full and the others by how much later they are.
std::vector<RulerTick> rulerTicks(const WindowScale& scale, double origin_ns);

/// A time with as many digits as tell it from its neighbours `step_ns` away: "3.211484 s".
std::string describeTime(double ns, double step_ns);

}  // namespace ringscope::viz
