// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/flow_stamps.h"

#include <gtest/gtest.h>

#include <QPainterPath>
#include <algorithm>

namespace ringscope::viz {
namespace {

const QColor kColor(200, 120, 40, 170);

QImage page() {
  QImage image(120, 400, QImage::Format_RGB32);
  image.fill(Qt::black);
  return image;
}

QImage stamped(FlowStamps& stamps, const QPointF& from, const QPointF& to, double density) {
  QImage image = page();
  QPainter painter(&image);
  painter.scale(density, density);
  stamps.paint(painter, from, to, kColor, density);
  return image;
}

/// Draws the curve itself.
QImage drawn(const QPointF& from, const QPointF& to, double density) {
  QImage image = page();
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(density, density);
  painter.setPen(QPen(kColor, 1.3));
  const bool down = to.y() > from.y();
  const double reach = std::min(24.0, std::abs(to.y() - from.y()) / 3);
  QPainterPath path(from);
  path.cubicTo(from + QPointF(10, 0), to + QPointF(10, down ? -reach : reach), to);
  painter.drawPath(path);
  return image;
}

int largestStep(const QImage& a, const QImage& b) {
  int most = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x)
      most = std::max(most, std::abs(qRed(a.pixel(x, y)) - qRed(b.pixel(x, y))));
  return most;
}

TEST(FlowStampsTest, EqualTheCurvesUpAndDownAtEveryDensity) {
  FlowStamps stamps;
  for (const double density : {1.0, 1.5, 2.0})
    for (const auto& [from, to] : {std::pair{QPointF(20, 30), QPointF(20, 170)},
                                   std::pair{QPointF(20, 170), QPointF(20, 30)},
                                   std::pair{QPointF(40, 60), QPointF(40, 64)}}) {
      const QImage curve = drawn(from, to, density);
      ASSERT_GT(largestStep(curve, page()), 60);
      for (int again = 0; again < 2; ++again)
        EXPECT_LE(largestStep(stamped(stamps, from, to, density), curve), 16)
            << density << ", from " << from.y() << " to " << to.y();
    }
}

TEST(FlowStampsTest, LieOnWholePixels) {
  FlowStamps stamps;
  EXPECT_EQ(stamped(stamps, {20.3, 30.2}, {20.3, 170.4}, 1), drawn({20, 30}, {20, 170}, 1));
}

}  // namespace
}  // namespace ringscope::viz
