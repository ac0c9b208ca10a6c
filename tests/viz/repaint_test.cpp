// SPDX-License-Identifier: GPL-3.0-or-later
// Drawing only the changes gives the same picture as drawing everything.
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "viz/style/theme.h"
#include "viz/views/ring/ring_painter.h"

namespace ringscope::viz {
namespace {

void draw(QImage& image, const RingScene& scene, double phase, const QRegion& dirty) {
  QPainter painter(&image);
  if (!dirty.isEmpty()) painter.setClipRegion(dirty);
  paintRingPage(painter, QRectF(image.rect()), scene, {}, phase, Theme::all().front(), dirty);
}

QRectF ringOf(const QImage& image, const RingScene& scene) {
  return ringAreas(QRectF(image.rect()), scene).ring;
}

/// Returns the number of pixels with clearly different colours.
int different(const QImage& a, const QImage& b) {
  constexpr int kClearly = 12;
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
    kept.fill(Qt::magenta);
    bool first = true;  // the view draws all of the first scene that has ranks
    for (const auto& moment : trace->moments()) {
      Cursor cursor;
      cursor.place = moment;
      const RingScene scene = makeRingScene(*trace, cursor);
      for (const double phase : {0.0, 0.35, 0.3, 0.9}) {
        const QRegion dirty =
            damage.update(ringOf(kept, scene), scene, phase, Theme::all().front());
        if (first) draw(kept, scene, phase, {});
        if (!first && !dirty.isEmpty()) draw(kept, scene, phase, dirty);
        first = false;
        draw(fresh, scene, phase, {});
        ASSERT_EQ(different(kept, fresh), 0)
            << size.width() << " " << traces::describe(moment) << " " << phase;
      }
    }
  }
}

TEST(RepaintTest, EveryPixelIsDrawnAfterAnyNumberOfPartialRepaints) {
  const auto trace = test::recordedTrace({});
  Cursor cursor;
  cursor.place = trace->moments().at(1);
  const RingScene scene = makeRingScene(*trace, cursor);
  for (const QSize size : {QSize(1211, 641), QSize(640, 401)}) {
    QImage used(size, QImage::Format_RGB32), fresh(size, QImage::Format_RGB32);
    used.fill(Qt::magenta);
    fresh.fill(Qt::black);
    for (int time = 0; time < 3; ++time) draw(used, scene, 0.3, QRegion(used.rect()));
    draw(fresh, scene, 0.3, {});
    EXPECT_EQ(different(used, fresh), 0) << size.width();
  }
}

}  // namespace
}  // namespace ringscope::viz
