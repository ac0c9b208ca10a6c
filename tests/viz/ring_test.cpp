// SPDX-License-Identifier: GPL-3.0-or-later
// The ring: what a scene holds and where cards stand.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/viz/sample_trace.h"
#include "viz/hub/hub.h"
#include "viz/maths/ring_layout.h"

namespace ringscope::viz {
namespace {

using traces::Direction;

TEST(RingSceneTest, ShowsWhatEachRankHoldsAttendsAndSends) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {}), "sample", false);
  hub.setPlace({0, 1, Direction::kForward, 1});
  const RingScene& scene = hub.scene();
  ASSERT_EQ(scene.ranks.size(), 4u);
  EXPECT_EQ(scene.ring_steps, 4);
  EXPECT_EQ(scene.chunk_count, 8);
  for (int r = 0; r < 4; ++r) {
    const RankScene& rank = scene.ranks[static_cast<std::size_t>(r)];
    EXPECT_EQ(rank.held_source, (r + 3) % 4);
    EXPECT_EQ(rank.chunks, (std::vector<int>{r, 7 - r}));
    EXPECT_TRUE(std::isfinite(rank.lse_before));
    EXPECT_TRUE(std::isfinite(rank.lse_after));
  }
  EXPECT_EQ(scene.ranks[0].attending, "queries 7 × keys 3, 4");
  EXPECT_EQ(scene.ranks[2].attending, "queries 2, 5 × keys 1");
  EXPECT_EQ(scene.packets.size(), 4u);
  for (const auto& packet : scene.packets) {
    EXPECT_EQ(packet.to, (packet.from + 1) % 4);
    EXPECT_EQ(packet.source_rank, (packet.from + 3) % 4);
    EXPECT_GE(packet.end - packet.begin, kShortestHop - 1e-9);
    EXPECT_LE(packet.end, 1.0 + 1e-9);
  }
  EXPECT_NE(scene.sentence.find("rank 0 attends its 16 queries to block 3"), std::string::npos)
      << scene.sentence;
}

TEST(RingSceneTest, BackwardCarriesGradientsBesideTheBlocks) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {}), "sample", false);
  hub.setPlace({0, 0, Direction::kBackward, 3});
  int kv = 0, dkv = 0;
  for (const auto& packet : hub.scene().packets)
    (packet.payload == traces::Payload::kDkv ? dkv : kv) += 1;
  EXPECT_EQ(kv, 0) << "the last block goes nowhere";
  EXPECT_EQ(dkv, 4) << "the last hop brings dK and dV home";
  for (const auto& packet : hub.scene().packets) EXPECT_EQ(packet.source_rank, packet.to);
}

TEST(RingLayoutTest, CardsOfUpToSixteenRanksDoNotOverlapAndLieInTheArea) {
  for (const QSizeF size : {QSizeF(708, 313), QSizeF(1212, 562), QSizeF(2400, 1300)})
    for (const int ranks : {1, 2, 4, 8, 16}) {
      const QRectF area(QPointF(0, 0), size);
      const RingLayout layout(area, ranks);
      for (int a = 0; a < ranks; ++a) {
        EXPECT_TRUE(area.contains(layout.card(a))) << ranks << " ranks on " << size.width();
        for (int b = 0; b < a; ++b)
          EXPECT_FALSE(layout.card(a).intersects(layout.card(b)))
              << ranks << ": " << a << " and " << b << " on " << size.width();
      }
    }
}

TEST(RingSceneTest, WithoutShardsItSaysRowsAndNotThatNothingIsAttended) {
  Hub hub;
  hub.setTrace(traces::openTrace(test::sparseTraceFile()), "sparse", false);
  hub.setPlace({0, 0, Direction::kForward, 1});
  for (const RankScene& rank : hub.scene().ranks)
    EXPECT_NE(rank.attending.find("query rows × block"), std::string::npos) << rank.attending;
}

}  // namespace
}  // namespace ringscope::viz
