// SPDX-License-Identifier: GPL-3.0-or-later
// Drawing only what has changed leaves the picture that drawing everything gives.
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "viz/paint/ring_painter.h"
#include "viz/style/theme.h"

namespace ringscope::viz {
namespace {

void draw(QImage& image, const RingScene& scene, double phase, const QRegion& dirty) {
  QPainter painter(&image);
  if (!dirty.isEmpty()) painter.setClipRegion(dirty);
  paintRing(painter, QRectF(image.rect()), scene, phase, Theme::all().front(), dirty);
}

/// Pixels that are clearly of another colour.
int different(const QImage& a, const QImage& b) {
  constexpr int kClearly = 40;
  int count = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x) {
      const QRgb one = a.pixel(x, y), other = b.pixel(x, y);
      count += std::abs(qRed(one) - qRed(other)) + std::abs(qGreen(one) - qGreen(other)) +
                   std::abs(qBlue(one) - qBlue(other)) >
               kClearly;
    }
  return count;
}

TEST(RepaintTest, DrawingWhatHasChangedEqualsDrawingEverything) {
  const auto trace = test::recordedTrace({});
  for (const QSize size : {QSize(1211, 641), QSize(640, 400)}) {
    RingDamage damage;
    QImage kept(size, QImage::Format_RGB32), fresh(size, QImage::Format_RGB32);
    draw(kept, {}, 0, {});
    for (const auto& moment : trace->moments()) {
      Cursor cursor;
      cursor.place = moment;
      const RingScene scene = makeRingScene(*trace, cursor);
      for (const double phase : {0.0, 0.35, 0.3, 0.9}) {
        const QRegion dirty =
            damage.update(QRectF(kept.rect()), scene, phase, Theme::all().front());
        if (!dirty.isEmpty()) draw(kept, scene, phase, dirty);
        draw(fresh, scene, phase, {});
        ASSERT_EQ(different(kept, fresh), 0)
            << size.width() << " " << traces::describe(moment) << " " << phase;
      }
    }
  }
}

}  // namespace
}  // namespace ringscope::viz
