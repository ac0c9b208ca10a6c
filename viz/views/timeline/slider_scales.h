// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace ringscope::viz {

/// The positions of a slider go from 0 to this one.
inline constexpr int kSliderPositions = 1000;

/// Positions 0 to 1000 of a slider over several powers of ten, from `least` to `most`; values have
/// three digits.
struct LogScale {
  double least = 1, most = 10;

  double valueAt(int position) const;
  int positionAt(double value) const;
};

/// A time in µs on a slider whose first position is 0.
struct FloorScale {
  double valueAt(int position) const;
  int positionAt(double value) const;
};

/// A share of 1 to 100 %, a tenth of a percent per position.
struct ShareScale {
  double valueAt(int position) const;
  int positionAt(double value) const;
};

}  // namespace ringscope::viz
