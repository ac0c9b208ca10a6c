// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QHash>
#include <QImage>
#include <QPainter>
#include <utility>

namespace ringscope::viz {

/// Curves from the end of a message to the lane of its receiver, each drawn once as a picture.
/// Lanes do not move while time is moved and zoomed, so that a frame copies the pictures of an
/// earlier one. (Qt hands the pixels of a long curve to other threads, for which a frame waits.)
class FlowStamps {
 public:
  /// Draws a curve of a colour between two points with the same x, in the painter's units, of which
  /// each has `density` pixels of the device.
  void paint(QPainter& painter, const QPointF& from, const QPointF& to, const QColor& color,
             double density);

 private:
  const QImage& of(int height, const QColor& color, double density);

  QHash<std::pair<int, QRgb>, QImage> stamps_;  ///< by height in pixels, up below 0, and colour
  qsizetype bytes_ = 0;
  double density_ = 0;
};

}  // namespace ringscope::viz
