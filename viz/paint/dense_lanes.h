// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <array>

#include "viz/scene/lane_sample.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// Puts columns of lanes into an image, a row of pixels computed once and copied down the lane.
class DenseLanes {
 public:
  DenseLanes(QImage& image, const Theme& theme);
  /// The lane's ground and what shares pixels in it, in device pixels of the image.
  void paint(const LaneSample& sample, int top, int height);

 private:
  QRgb colorOf(const ColumnMix& mix) const;

  QImage& image_;
  QColor ground_;
  std::array<QColor, kShades> colors_;
  std::vector<QRgb> row_;
};

}  // namespace ringscope::viz
