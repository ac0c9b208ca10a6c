// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/ruler_scene.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace ringscope::viz {

std::string describeTime(double ns, double step_ns) {
  struct Unit {
    double ns;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
  const double size = std::max(std::abs(ns), step_ns);
  const Unit* unit = &kUnits[3];
  for (const Unit& each : kUnits)
    if (size >= each.ns * 0.9999999) {
      unit = &each;
      break;
    }
  int decimals = 0;
  for (double step = step_ns / unit->ns; step < 0.9999999 && decimals < 9; step *= 10) ++decimals;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, ns / unit->ns, unit->name);
  return text.data();
}

std::vector<RulerTick> rulerTicks(const WindowScale& scale, double origin_ns) {
  constexpr double kApart = 96, kLongest = 1e4;  // pixels; steps up to a tick's time
  const double tick = scale.tick(kApart);
  std::vector<RulerTick> ticks;
  const double first = std::ceil((scale.window.begin_ns - origin_ns) / tick) * tick;
  const double last = scale.window.end_ns - origin_ns;
  const bool by_difference = std::max(std::abs(first), std::abs(last)) > tick * kLongest;
  for (int i = 0; i < 1000 && first + i * tick <= last; ++i) {
    const double at = first + i * tick;
    ticks.push_back({scale.x(origin_ns + at), by_difference && i > 0
                                                  ? "+" + describeTime(i * tick, tick)
                                                  : describeTime(at, tick)});
  }
  return ticks;
}

}  // namespace ringscope::viz
