// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/views/timeline/chart_painter.h"

namespace ringscope::viz {

/// From this width on a stretch is a shape of its own: narrower ones have neither patterns nor
/// words, and are columns of the lane's picture.
inline constexpr double kLeastBar = 10;

/// Draws stretches that are wide enough for it. `box`: as far as it is on show.
class BarPainter {
 public:
  BarPainter(QPainter& painter, ChartCanvas& canvas, const Theme& theme)
      : p_(painter), canvas_(canvas), theme_(theme) {}
  void paint(const QRectF& box, const Span& span, std::int64_t bytes);

 private:
  void attend(const QRectF& box, const Span& span);
  void message(const QRectF& box, const Span& span, std::int64_t bytes);
  void wait(const QRectF& box);
  void pause(const QRectF& box);
  void work(const QRectF& box, const Span& span);
  void frame(const QRectF& box, const QColor& color, double width);
  void plate(const QRectF& box, const QString& words);
  void words(const QRectF& box, const QString& words, const QColor& color, int size);

  QPainter& p_;
  ChartCanvas& canvas_;
  const Theme& theme_;
};

}  // namespace ringscope::viz
