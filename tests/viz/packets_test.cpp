// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <QLineF>
#include <functional>

#include "tests/support/place_at.h"
#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"
#include "viz/scene/units.h"
#include "viz/session/viewing.h"
#include "viz/views/ring/ring_packets.h"
#include "viz/views/ring/ring_painter.h"

namespace ringscope::viz {
namespace {

using test::RingRun;

/// Returns one layer and one training step without tensors.
RingRun ofRanks(int ranks, RingRun run = {}) {
  run.cp = ranks;
  run.steps = run.layers = 1;
  run.keeps_tensors = false;
  return run;
}

/// Calls `check` for every packet under way in the recording, at three phases of every ring step.
void forEachPacket(
    const RingRun& run, const QSizeF& size,
    const std::function<void(const RingCanvas&, const MovingPacket&, const PacketShape&)>& check) {
  Viewing viewing;
  viewing.session.open(test::recordedTrace(run), "sample", false);
  QPainter none;
  const QRectF area(QPointF(0, 0), size);
  for (int moment = 0; moment < static_cast<int>(viewing.session.trace().moments().size());
       ++moment)
    for (const double phase : {0.05, 0.5, 0.9}) {
      viewing.navigator.setMoment(moment, phase);
      const auto ring = viewing.session.ring(viewing.navigator.cursor());
      const RingScene& scene = *ring;
      const RingLayout layout(area, static_cast<int>(scene.ranks.size()));
      const RingCanvas canvas{none, layout, scene, phase, Theme::all().front(), {}};
      for (const MovingPacket& packet : scene.packets)
        if (const auto shape = packetShape(canvas, packet)) check(canvas, packet, *shape);
    }
}

TEST(RingPacketsTest, PacketsOnLanesTouchNeitherCardsNorWords) {
  for (const RingRun& run : {ofRanks(4, test::gathering()), ofRanks(4, test::sharingHeads(4)),
                             ofRanks(4, test::sharingHeads(2)), ofRanks(16)})
    for (const QSizeF size : {QSizeF(708, 313), QSizeF(1212, 562), QSizeF(2400, 1300)}) {
      int by_lane = 0;
      forEachPacket(run, size, [&](const auto& c, const auto& packet, const auto& shape) {
        const int ranks = static_cast<int>(c.scene.ranks.size());
        const int ahead = (packet.to.value() - packet.from.value() + ranks) % ranks;
        const bool neighbours = ahead == 1 || ahead == ranks - 1;
        if (neighbours && packet.payload != traces::Payload::kHeads && !c.crowded()) return;
        ++by_lane;
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_FALSE(c.layout.card(GroupRank::of(rank)).intersects(shape.face))
              << packet.from.value() << " to " << packet.to.value() << " of " << ranks << " on "
              << size.width();
        ASSERT_TRUE(c.insideLanes());
        EXPECT_FALSE(c.insideLanes()->intersects(shape.face)) << ranks << " on " << size.width();
      });
      EXPECT_GT(by_lane, 3) << run.cp << " ranks";
    }
}

TEST(RingPacketsTest, PacketsOfDkvAreLabelledAndCoverNoOtherWords) {
  for (const int ranks : {2, 4, 8})
    for (const QSizeF size : {QSizeF(1212, 562), QSizeF(2400, 1300)}) {
      Viewing viewing;
      viewing.session.open(test::recordedTrace(ofRanks(ranks)), "sample", false);
      QPainter none;
      const RingLayout layout(QRectF(QPointF(0, 0), size), ranks);
      int said = 0;
      for (int step = 0; step < ranks; ++step) {
        viewing.navigator.setPlace(test::placeAt(0, 0, traces::Direction::kBackward, step));
        const auto ring = viewing.session.ring(viewing.navigator.cursor());
        for (double phase = 0.05; phase < 1; phase += 0.1) {
          const RingCanvas canvas{none, layout, *ring, phase, Theme::all().front(), {}};
          std::vector<PacketShape> shapes;
          for (const MovingPacket& packet : ring->packets)
            if (const auto shape = packetShape(canvas, packet)) shapes.push_back(*shape);
          for (const PacketShape& shape : shapes) {
            const bool sums = shape.name.startsWith("d");
            said += sums && !shape.label.isEmpty();
            EXPECT_TRUE(shape.words.contains(describeBytes(2048).c_str()))
                << shape.words.toStdString();
            for (const PacketShape& other : shapes)
              EXPECT_FALSE(other.face.intersects(shape.label))
                  << ranks << " ranks, step " << step << " at " << phase << ": "
                  << other.name.toStdString() << " on the words of " << shape.name.toStdString();
            for (int seat = 0; seat < ranks; ++seat)
              EXPECT_FALSE(layout.card(GroupRank::of(seat)).intersects(shape.label));
          }
        }
      }
      EXPECT_GT(said, 0) << ranks << " ranks on " << size.width();
    }
}

TEST(RingPacketsTest, NoTrailCrossesTheWordsOfItsPacketOnTheWayForward) {
  for (const int ranks : {2, 3, 4, 6, 8})
    for (const QSizeF size : {QSizeF(708, 313), QSizeF(1212, 562), QSizeF(2400, 1300)}) {
      int said = 0;
      forEachPacket(
          ofRanks(ranks), size, [&](const auto& c, const auto& packet, const auto& shape) {
            if (c.scene.place.direction != traces::Direction::kForward || shape.label.isEmpty())
              return;
            ++said;
            QPainterPathStroker stroker;
            stroker.setWidth(shape.stroke);
            EXPECT_FALSE(stroker.createStroke(shape.trail).intersects(shape.label))
                << packet.from.value() << " to " << packet.to.value() << " of " << ranks << " on "
                << size.width() << " at " << c.phase;
          });
      EXPECT_TRUE(said > 0 || size.width() < 1000) << ranks << " ranks on " << size.width();
    }
}

/// Returns the number of pixels in the colour of text outside of cards and packets.
int wordPixels(const RingScene& scene, const QSizeF& size) {
  const Theme& theme = Theme::all().front();
  QImage image(size.toSize(), QImage::Format_RGB32);
  QPainter p(&image);
  const QRectF area(QPointF(0, 0), size);
  paintRing(p, area, scene, 0, theme);
  const RingLayout layout(area, static_cast<int>(scene.ranks.size()));
  const RingCanvas canvas{p, layout, scene, 0, theme, {}};
  for (int seat = 0; seat < static_cast<int>(scene.ranks.size()); ++seat)
    p.fillRect(layout.card(GroupRank::of(seat)).adjusted(-3, -3, 3, 3), theme.background);
  for (const MovingPacket& packet : scene.packets)
    if (const auto shape = packetShape(canvas, packet))
      p.fillRect(shape->region().boundingRect(), theme.background);
  p.end();
  int pixels = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) pixels += image.pixel(x, y) == theme.text.rgb();
  return pixels;
}

TEST(RingPacketsTest, TheWordsInTheMiddleFitForAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 8, 16}) {
    Viewing viewing;
    viewing.session.open(test::recordedTrace(ofRanks(ranks)), "sample", false);
    for (const auto direction : {traces::Direction::kForward, traces::Direction::kBackward})
      for (const QSizeF size : {QSizeF(560, 300), QSizeF(708, 313), QSizeF(1212, 562)}) {
        viewing.navigator.setPlace(test::placeAt(0, 0, direction, 0));
        EXPECT_GT(wordPixels(*viewing.session.ring(viewing.navigator.cursor()), size), 60)
            << ranks << " ranks on " << size.width();
      }
  }
}

/// Returns the area of all text in the middle of the ring, where packets are not drawn.
QRect wordsInTheMiddle(const RingCanvas& c, const QSizeF& size) {
  RingScene still = c.scene;
  still.packets.clear();
  QImage image(size.toSize(), QImage::Format_RGB32);
  QPainter p(&image);
  paintRing(p, QRectF(QPointF(0, 0), size), still, c.phase, c.theme);
  for (int seat = 0; seat < static_cast<int>(still.ranks.size()); ++seat)
    p.fillRect(c.layout.card(GroupRank::of(seat)).adjusted(-3, -3, 3, 3), c.theme.background);
  p.end();
  QRect words;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      if (image.pixel(x, y) == c.theme.text.rgb()) words |= QRect(x, y, 1, 1);
  return words;
}

TEST(RingPacketsTest, NoPacketLiesOnTheWordsInTheMiddleWhereTheCardsAreSmall) {
  for (const int ranks : {6, 8}) {
    int by_lane = 0;
    const QSizeF size(708, 300);

    forEachPacket(ofRanks(ranks), size, [&](const auto& c, const auto&, const auto& shape) {
      ++by_lane;
      EXPECT_FALSE(wordsInTheMiddle(c, size).intersects(shape.face.toAlignedRect()))
          << shape.name.toStdString() << " of " << ranks << " ranks";
    });
    EXPECT_GT(by_lane, ranks) << ranks;
  }
}

double distance(const QPointF& point, const QRectF& box) {
  return QLineF(point, {std::clamp(point.x(), box.left(), box.right()),
                        std::clamp(point.y(), box.top(), box.bottom())})
      .length();
}

TEST(RingPacketsTest, APacketLeavesItsSenderAndComesToItsReceiver) {
  Viewing viewing;
  viewing.session.open(test::recordedTrace(ofRanks(4, test::gathering())), "sample", false);
  const RingLayout layout(QRectF(0, 0, 1212, 562), 4);
  QPainter none;
  int packets = 0;
  for (int moment = 0; moment < static_cast<int>(viewing.session.trace().moments().size());
       ++moment) {
    viewing.navigator.setMoment(moment, 0);
    const auto ring = viewing.session.ring(viewing.navigator.cursor());
    for (const MovingPacket& packet : ring->packets) {
      const auto center_at = [&](double phase) {
        const RingCanvas canvas{none, layout, *ring, phase, Theme::all().front(), {}};
        const auto shape = packetShape(canvas, packet);
        EXPECT_TRUE(shape);
        return shape ? shape->face.center() : QPointF();
      };
      const QPointF first = center_at(packet.begin), last = center_at(packet.end);
      const QRectF from = layout.card(GroupRank::of(packet.from.value())),
                   to = layout.card(GroupRank::of(packet.to.value()));
      EXPECT_GT(distance(last, from), distance(first, from))
          << packet.from.value() << " " << packet.to.value();
      EXPECT_LT(distance(last, to), distance(first, to))
          << packet.from.value() << " " << packet.to.value();
      ++packets;
    }
  }
  EXPECT_GT(packets, 12);
}

}  // namespace
}  // namespace ringscope::viz
