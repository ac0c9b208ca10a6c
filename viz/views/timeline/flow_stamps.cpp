// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/flow_stamps.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "viz/style/shapes.h"

namespace ringscope::viz {
namespace {

constexpr int kStampMargin = 6;        // pixels around a curve
constexpr double kBulge = 10;          // units to the right of its ends, where its handles are
constexpr double kReach = 24;          // units that it arrives along its own direction, at most
constexpr double kWidth = 1.3;         // units
constexpr qsizetype kMost = 16 << 20;  // bytes

/// Returns the curve from a point to another one `height` under it.
QPainterPath flowCurve(const QPointF& from, double height, double density) {
  const QPointF to = from + QPointF(0, height);
  const double reach = std::min(kReach * density, std::abs(height) / 3.0);
  QPainterPath path(from);
  path.cubicTo(from + QPointF(kBulge * density, 0),
               to + QPointF(kBulge * density, height > 0 ? -reach : reach), to);
  return path;
}

}  // namespace

const QImage& FlowStamps::of(int height, const QColor& color, double density) {
  if (density != density_ || bytes_ > kMost) {
    stamps_.clear();
    bytes_ = 0;
    density_ = density;
  }
  QImage& stamp = stamps_[{height, color.rgba()}];
  if (!stamp.isNull()) return stamp;
  const int rows = std::abs(height), bulge = static_cast<int>(std::ceil(kBulge * density));
  stamp = QImage(bulge + 2 * kStampMargin, rows + 2 * kStampMargin,
                 QImage::Format_ARGB32_Premultiplied);
  stamp.fill(Qt::transparent);
  bytes_ += stamp.sizeInBytes();
  QPainter painter(&stamp);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(color, kWidth * density));
  const QPointF from(kStampMargin, height > 0 ? kStampMargin : kStampMargin + rows);
  painter.drawPath(flowCurve(from, height, density));
  return stamp;
}

void FlowStamps::paint(QPainter& painter, const QPointF& from, const QPointF& to,
                       const QColor& color, double density) {
  const auto pixel = [density](double at) { return static_cast<int>(std::lround(at * density)); };
  const int height = pixel(to.y()) - pixel(from.y());
  painter.save();
  if (writesShapes(painter)) {
    painter.setPen(QPen(color, kWidth));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(flowCurve(from, to.y() - from.y(), 1));
    return painter.restore();
  }
  painter.scale(1 / density, 1 / density);
  painter.drawImage(
      QPoint(pixel(from.x()) - kStampMargin, pixel(std::min(from.y(), to.y())) - kStampMargin),
      of(height, color, density));
  painter.restore();
}

}  // namespace ringscope::viz
