// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <QLineF>
#include <functional>

#include "tests/viz/sample_trace.h"
#include "viz/views/ring_packets.h"
#include "viz/views/ring_painter.h"

namespace ringscope::viz {
namespace {

/// Calls `check` for every packet under way in the recording, at three phases of every ring step.
void forEachPacket(
    const std::string& file, const QSizeF& size,
    const std::function<void(const RingCanvas&, const MovingPacket&, const PacketShape&)>& check) {
  Hub hub;
  hub.setTrace(traces::openTrace(file), "sample", false);
  QPainter none;
  const QRectF area(QPointF(0, 0), size);
  for (int moment = 0; moment < static_cast<int>(hub.trace().moments().size()); ++moment)
    for (const double phase : {0.05, 0.5, 0.9}) {
      hub.setMoment(moment, phase);
      const RingScene& scene = hub.scene();
      const RingLayout layout(area, static_cast<int>(scene.ranks.size()));
      const RingCanvas canvas{none, layout, scene, hub, Theme::all().front(), {}};
      for (const MovingPacket& packet : scene.packets)
        if (const auto shape = packetShape(canvas, packet)) check(canvas, packet, *shape);
    }
}

TEST(RingPacketsTest, WhatGoesByALaneTouchesNeitherCardsNorTheWordsInTheMiddle) {
  const std::vector<std::string> files = {
      test::traceFileWith("--strategy all_gather"), test::traceFileWith("--strategy ulysses"),
      test::traceFileWith("--strategy hybrid"), test::sampleTraceFile(16, {})};
  for (const std::string& file : files)
    for (const QSizeF size : {QSizeF(708, 313), QSizeF(1212, 562), QSizeF(2400, 1300)}) {
      int by_lane = 0;
      forEachPacket(file, size, [&](const auto& c, const auto& packet, const auto& shape) {
        const int ranks = static_cast<int>(c.scene.ranks.size());
        const int ahead = (packet.to - packet.from + ranks) % ranks;
        const bool neighbours = ahead == 1 || ahead == ranks - 1;
        if (neighbours && packet.payload != traces::Payload::kHeads && !c.crowded()) return;
        ++by_lane;
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_FALSE(c.layout.card(rank).intersects(shape.face))
              << packet.from << " to " << packet.to << " of " << ranks << " on " << size.width();
        ASSERT_TRUE(c.insideLanes());
        EXPECT_FALSE(c.insideLanes()->intersects(shape.face)) << ranks << " on " << size.width();
      });
      EXPECT_GT(by_lane, 3) << file;
    }
}

/// Pixels in the colour of text that lie neither on cards nor on packets.
int wordPixels(const Hub& hub, const QSizeF& size) {
  const Theme& theme = Theme::all().front();
  QImage image(size.toSize(), QImage::Format_RGB32);
  QPainter p(&image);
  const QRectF area(QPointF(0, 0), size);
  paintRing(p, area, hub, theme);
  const RingLayout layout(area, static_cast<int>(hub.scene().ranks.size()));
  const RingCanvas canvas{p, layout, hub.scene(), hub, theme, {}};
  for (const RankScene& rank : hub.scene().ranks)
    p.fillRect(layout.card(rank.rank).adjusted(-3, -3, 3, 3), theme.background);
  for (const MovingPacket& packet : hub.scene().packets)
    if (const auto shape = packetShape(canvas, packet))
      p.fillRect(shape->region().boundingRect(), theme.background);
  p.end();
  int pixels = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) pixels += image.pixel(x, y) == theme.text.rgb();
  return pixels;
}

TEST(RingPacketsTest, TheWordsInTheMiddleAreThereWhateverTheNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 8, 16}) {
    Hub hub;
    hub.setTrace(test::sampleTrace(ranks, {}), "sample", false);
    for (const auto direction : {traces::Direction::kForward, traces::Direction::kBackward})
      for (const QSizeF size : {QSizeF(560, 300), QSizeF(708, 313), QSizeF(1212, 562)}) {
        hub.setPlace({0, 0, direction, 0});
        EXPECT_GT(wordPixels(hub, size), 60) << ranks << " ranks on " << size.width();
      }
  }
}

double distance(const QPointF& point, const QRectF& box) {
  return QLineF(point, {std::clamp(point.x(), box.left(), box.right()),
                        std::clamp(point.y(), box.top(), box.bottom())})
      .length();
}

TEST(RingPacketsTest, APacketLeavesItsSenderAndComesToItsReceiver) {
  Hub hub;
  hub.setTrace(traces::openTrace(test::traceFileWith("--strategy all_gather")), "sample", false);
  const RingLayout layout(QRectF(0, 0, 1212, 562), 4);
  QPainter none;
  int packets = 0;
  for (int moment = 0; moment < static_cast<int>(hub.trace().moments().size()); ++moment) {
    hub.setMoment(moment, 0);
    for (const MovingPacket& packet : std::vector(hub.scene().packets)) {
      const auto centerAt = [&](double phase) {
        hub.setMoment(moment, phase);
        const RingCanvas canvas{none, layout, hub.scene(), hub, Theme::all().front(), {}};
        const auto shape = packetShape(canvas, packet);
        EXPECT_TRUE(shape);
        return shape ? shape->face.center() : QPointF();
      };
      const QPointF first = centerAt(packet.begin), last = centerAt(packet.end);
      const QRectF from = layout.card(packet.from), to = layout.card(packet.to);
      EXPECT_GT(distance(last, from), distance(first, from)) << packet.from << " " << packet.to;
      EXPECT_LT(distance(last, to), distance(first, to)) << packet.from << " " << packet.to;
      ++packets;
    }
  }
  EXPECT_GT(packets, 12);
}

}  // namespace
}  // namespace ringscope::viz
