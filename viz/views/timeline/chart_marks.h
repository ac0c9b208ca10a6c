// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <vector>

#include "viz/style/theme.h"
#include "viz/views/timeline/chart_layout.h"

namespace ringscope::viz {

/// Draws folds, the measured range, marks and the viewed instant over the lanes of a chart.
class ChartMarks {
 public:
  ChartMarks(QPainter& painter, const ChartLayout& layout, const ChartScene& scene,
             const Theme& theme)
      : p_(painter),
        at_(layout),
        scene_(scene),
        theme_(theme),
        scale_(layout.scale(scene.window)) {}

  void paint();
  /// Draws the tags on the ruler.
  std::vector<QRectF> tags() const;

 private:
  void folds();
  void range();
  void marks();
  void instant();
  bool isOnLanes(double ns) const;
  QString instantWords() const;
  void tag(double x, double top, const QString& words, const QColor& ground, const QColor& ink);

  QPainter& p_;
  const ChartLayout& at_;
  const ChartScene& scene_;
  const Theme& theme_;
  WindowScale scale_;
};

}  // namespace ringscope::viz
