// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/style/colormap.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ringscope::viz {
namespace {

/// Cividis at nine equally distant values.
constexpr std::array<QRgb, 9> kCividis = {0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173,
                                          0x8a8678, 0xa59c74, 0xc3b369, 0xfee838};

QColor between(QColor a, QColor b, double t) {
  auto mix = [t](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * t)); };
  return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

}  // namespace

QColor magnitudeColor(double value) {
  if (std::isnan(value)) return {};
  const double at = std::clamp(value, 0.0, 1.0) * (kCividis.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), kCividis.size() - 2);
  return between(QColor(kCividis[i]), QColor(kCividis[i + 1]), at - static_cast<double>(i));
}

QColor signedColor(double value, double neutral) {
  if (std::isnan(value)) return {};
  const double size = std::min(1.0, std::abs(value));
  if (size <= neutral) return QColor(0xf7, 0xf7, 0xf7);
  const double t = (size - neutral) / (1 - neutral);
  return between(QColor(0xf7, 0xf7, 0xf7),
                 value < 0 ? QColor(0x21, 0x66, 0xac) : QColor(0xb2, 0x18, 0x2b), t);
}

}  // namespace ringscope::viz
