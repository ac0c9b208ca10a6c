// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cmath>

namespace ringscope::viz {

/// The stretch of an axis that is on show, in nanoseconds. Gestures move it; it never shows less
/// than a few nanoseconds, nor much more than there is.
struct TimeWindow {
  double begin_ns = 0, end_ns = 1;

  static constexpr double kLeast = 20;  ///< nanoseconds across

  double length() const { return end_ns - begin_ns; }
  /// Shows `factor` times as much, and keeps the time `about_ns` where it is.
  TimeWindow zoomed(double factor, double about_ns, const TimeWindow& all) const {
    const double most = std::max(all.length() * 1.1, kLeast);
    const double to = std::clamp(length() * factor, kLeast, most);
    const double begin = about_ns - (about_ns - begin_ns) / length() * to;
    return TimeWindow{begin, begin + to}.within(all);
  }
  /// Moves by a share of what is on show.
  TimeWindow panned(double share, const TimeWindow& all) const {
    const double by = share * length();
    return TimeWindow{begin_ns + by, end_ns + by}.within(all);
  }
  /// Moved so that its middle lies within `all`: there is always something to see.
  TimeWindow within(const TimeWindow& all) const {
    const double middle = (begin_ns + end_ns) / 2;
    const double by = std::clamp(middle, all.begin_ns, all.end_ns) - middle;
    return {begin_ns + by, end_ns + by};
  }
  /// With a fortieth of room on both sides.
  TimeWindow withMargin() const {
    const double margin = std::max(length(), kLeast) / 40;
    return {begin_ns - margin, end_ns + margin};
  }

  friend bool operator==(const TimeWindow&, const TimeWindow&) = default;
};

/// Time ↔ pixel of a window.
struct WindowScale {
  TimeWindow window;
  double left = 0, width = 1;

  double perPixel() const { return window.length() / width; }
  double x(double ns) const { return left + (ns - window.begin_ns) / perPixel(); }
  double ns(double pixel) const { return window.begin_ns + (pixel - left) * perPixel(); }
  /// A round distance between ticks that are at least `apart` pixels from each other: 1, 2 or 5
  /// times a power of 10.
  double tick(double apart) const {
    const double raw = std::max(1.0, perPixel() * apart);
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double step : {1.0, 2.0, 5.0})
      if (power * step >= raw) return power * step;
    return power * 10;
  }
};

}  // namespace ringscope::viz
