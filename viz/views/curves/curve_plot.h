// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QRectF>
#include <cstdint>
#include <vector>

#include "viz/style/theme.h"
#include "viz/views/curves/curve_scene.h"

namespace ringscope::viz {

/// One curve in a box: its name and the viewed value above, values at the left, steps below.
/// References what it is made of.
class CurvePlot {
 public:
  CurvePlot(const QRectF& box, const std::vector<std::int32_t>& steps, const Curve& curve);

  /// Returns the box of the points.
  const QRectF& box() const { return plot_; }
  /// The nearest step.
  std::int32_t stepAt(double x) const;
  void paint(QPainter& painter, std::int32_t train_step, const Theme& theme) const;

 private:
  using Values = std::vector<std::optional<double>>;

  double x(std::int32_t step) const;
  double y(double value) const;
  /// On the axis: its logarithm where the curve has one.
  double scaled(double value) const;
  std::vector<double> ticks() const;
  void include(const Values& values);
  void drawAxes(QPainter& painter, const Theme& theme) const;
  void drawTitle(QPainter& painter, std::int32_t train_step, const Theme& theme) const;
  void drawLine(QPainter& painter, const Values& values, const QPen& pen) const;
  void drawWrong(QPainter& painter, const Theme& theme) const;

  QRectF whole_, plot_;
  const std::vector<std::int32_t>& steps_;
  const Curve& curve_;
  bool logarithmic_ = false;
  double low_ = 0, high_ = 1;  // of the axis, scaled
};

}  // namespace ringscope::viz
