// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QPainter>
#include <array>
#include <vector>

#include "viz/style/theme.h"
#include "viz/views/timeline/lane_sample_scene.h"

namespace ringscope::viz {

/// How much of its colour a faint line has.
inline constexpr float kTickInk = 90 / 255.0F;

/// Draws columns of lanes as pictures: a row of pixels is computed once and copied down the lane.
class DenseLanes {
 public:
  /// `strip` is the picture of one lane at a time, `width` wide; kept from frame to frame. Faint
  /// lines cross it at `ticks`, columns of it.
  DenseLanes(QImage& strip, int width, std::vector<int> ticks, const Theme& theme);
  /// The lane's ground and what shares pixels in it; the painter's units are pixels of the device.
  void paint(QPainter& painter, const LaneSample& sample, int top, int height);

 private:
  struct Rgb {
    float r = 0, g = 0, b = 0;
    Rgb() = default;
    explicit Rgb(QRgb color);
    void add(const Rgb& color, float share);
  };
  QRgb withTick(const Rgb& below) const;
  QRgb mixColor(const ColumnMix& mix, const ShadeList& shades) const;
  static const Rgb& ofSource(std::int16_t source);

  QImage& strip_;
  int width_;
  std::vector<int> ticks_;
  QColor ground_color_;
  Rgb ground_, line_;
  std::array<Rgb, kShades> colors_;  // over the ground
};

}  // namespace ringscope::viz
