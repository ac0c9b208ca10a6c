// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/slider_scales.h"

#include <algorithm>
#include <cmath>

namespace ringscope::viz {
namespace {

constexpr LogScale kSliderFloor{0.01, 1000};

}  // namespace

double LogScale::valueAt(int position) const {
  const double value =
      least * std::pow(most / least, static_cast<double>(position) / kSliderPositions);
  const double digit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / digit) * digit;
}

int LogScale::positionAt(double value) const {
  if (value <= least) return 0;
  if (value >= most) return kSliderPositions;
  return static_cast<int>(
      std::lround(kSliderPositions * std::log(value / least) / std::log(most / least)));
}

double FloorScale::valueAt(int position) const {
  return position <= 0 ? 0 : kSliderFloor.valueAt(position);
}
int FloorScale::positionAt(double value) const {
  return value <= 0 ? 0 : std::max(1, kSliderFloor.positionAt(value));
}

double ShareScale::valueAt(int position) const {
  return std::max(10, position) / static_cast<double>(kSliderPositions);
}
int ShareScale::positionAt(double value) const {
  return static_cast<int>(std::lround(value * kSliderPositions));
}

}  // namespace ringscope::viz
