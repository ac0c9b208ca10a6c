// SPDX-License-Identifier: GPL-3.0-or-later
// Views of ranks and blocks, painted from handwritten scenes without a trace: the words that they
// draw and their places, the shapes, and what lies under a point.
#include <gtest/gtest.h>

#include "tests/support/place_at.h"
#include "tests/viz/drawn.h"
#include "viz/views/coverage/coverage_painter.h"
#include "viz/views/now/now_painter.h"
#include "viz/views/pass/pass_painter.h"
#include "viz/views/positions/positions_painter.h"
#include "viz/views/ring/ring_layout.h"
#include "viz/views/ring/ring_painter.h"

namespace ringscope::viz {
namespace {

using test::dark;
using test::drawn;
using test::has;
using traces::Direction;

const WorldRank kFive = WorldRank::of(5), kSeven = WorldRank::of(7);

/// Returns two ranks; rank 5 attends block 7 for half of the step and then waits, and sends its
/// block.
RingScene twoRanks() {
  RingScene scene;
  scene.place = test::placeAt(3, 1, Direction::kForward, 1);
  scene.selected = kFive;
  scene.ring_steps = 2;
  scene.chunk_count = 4;
  scene.sentence = "rank 5 attends its 16 queries to block 7";
  for (const WorldRank rank : {kFive, kSeven}) {
    RankScene of;
    of.rank = rank;
    of.place = scene.place;
    of.window = {1000, 2000};
    of.chunks = rank == kFive ? std::vector<int>{0, 3} : std::vector<int>{1, 2};
    of.held_source = rank == kFive ? kSeven : kFive;
    of.sources = {of.held_source};
    of.cells = {{of.chunks[1], 1, of.held_source, false, true}};
    of.attending = "queries 3 x keys 1";
    of.queries = 16;
    of.lse_after = {3.25, 64};
    of.attend_ns = 500;
    scene.ranks.push_back(of);
  }
  scene.ranks[0].wait_ns = 400;
  scene.ranks[0].waits_for = kSeven;
  scene.ranks[0].waits = {{0.6, 0.9, 400, kSeven}};
  scene.packets = {{traces::Payload::kKv, kFive, kSeven, kFive, 2048, 0.2, 0.8, false}};
  return scene;
}

constexpr QSizeF kRingSize(1200, 560);

TEST(RingPainterTest, DrawsCardsTheSentenceAndWhatIsUnderWay) {
  const RingScene scene = twoRanks();
  const auto picture = drawn(
      kRingSize, [&](QPainter& p, const QRectF& area) { paintRing(p, area, scene, 0.5, dark()); });
  EXPECT_TRUE(has(*picture, "rank 5")) << picture->words();
  EXPECT_TRUE(has(*picture, "rank 7"));
  EXPECT_TRUE(has(*picture, "chunks 0, 3"));
  EXPECT_TRUE(has(*picture, "ring step 1 of 2"));
  EXPECT_TRUE(has(*picture, "lse 3.25"));
  EXPECT_TRUE(has(*picture, "2 KiB")) << "the packet's label";
  EXPECT_EQ(rankAt(picture->find("rank 7")->at, picture->area(), scene), kSeven);
  EXPECT_TRUE(rankAt(picture->area().center(), picture->area(), scene).isNone());
}

TEST(RingPainterTest, PacketsInFlightAndBegunWaitsAreDrawn) {
  const RingScene scene = twoRanks();
  auto at = [&](double phase) {
    return drawn(kRingSize,
                 [&](QPainter& p, const QRectF& area) { paintRing(p, area, scene, phase, dark()); })
        ->words();
  };
  EXPECT_EQ(at(0.1).find("2 KiB"), std::string::npos);
  EXPECT_NE(at(0.5).find("2 KiB"), std::string::npos);
  EXPECT_EQ(at(0.9).find("2 KiB"), std::string::npos);
  EXPECT_EQ(at(0.5).find("waits for rank 7"), std::string::npos);
  EXPECT_NE(at(0.7).find("waits for rank 7"), std::string::npos);
  EXPECT_EQ(at(0.95).find("waits for rank 7"), std::string::npos) << "it is over";
}

TEST(RingPainterTest, DamageCoversMovedPacketsAndChangedWords) {
  RingScene scene = twoRanks();
  const QRectF area(QPointF(0, 0), kRingSize);
  RingDamage damage;
  EXPECT_EQ(damage.update(area, scene, 0, dark()), QRegion(area.toAlignedRect())) << "all is new";
  EXPECT_TRUE(damage.update(area, scene, 0.05, dark()).isEmpty()) << "nothing is under way yet";
  const QRegion packet = damage.update(area, scene, 0.5, dark());
  EXPECT_FALSE(packet.isEmpty());
  EXPECT_LT(packet.boundingRect().width(), area.width() / 2);
  damage.update(area, scene, 0.9, dark());
  scene.selected = kSeven;
  EXPECT_FALSE(damage.update(area, scene, 0.9, dark()).isEmpty()) << "another card is marked";
}

TEST(RingPainterTest, WithoutRanksItSaysWhy) {
  RingScene scene;
  scene.note = "No ring step is recorded.";
  const auto picture = drawn({800, 400}, [&](QPainter& p, const QRectF& area) {
    paintRingPage(p, area, scene, {}, 0, dark());
  });
  EXPECT_EQ(picture->words(), scene.note);
}

TEST(PositionStripTest, IsDrawnUnderTheRingAndCountsWhatIsWrong) {
  PositionStrip strip;
  strip.rows = {{kFive, {{8, 0, 7, 0, false}}}, {kSeven, {{8, 0, 7, 8, true}}}};
  strip.wrong = 8;
  strip.all = 16;
  const RingScene scene = twoRanks();
  const auto picture = drawn(kRingSize, [&](QPainter& p, const QRectF& area) {
    paintRingPage(p, area, scene, strip, 0, dark());
  });
  EXPECT_TRUE(has(*picture, "8 of 16 position ids differ")) << picture->words();
  EXPECT_TRUE(has(*picture, "should be 8"));
  const RingAreas areas = ringAreas(picture->area(), scene);
  EXPECT_GE(picture->find("POSITION IDS")->at.y(), areas.strip.top());
  EXPECT_EQ(areas.ring.bottom(), areas.strip.top());
}

TEST(NowPainterTest, SaysTheSentenceInLargeTypeAndALineARank) {
  const auto picture = drawn({900, 560}, [](QPainter& p, const QRectF& area) {
    paintNow(p, area, twoRanks(), 0, dark());
  });
  EXPECT_TRUE(has(*picture, "Rank 5 attends its 16 queries to block 7")) << picture->words();
  EXPECT_TRUE(has(*picture, "waits 400 ns for rank 7"));
  EXPECT_LT(picture->exactly("rank 5")->at.y(), picture->exactly("rank 7")->at.y());
}

/// Returns four pairs: one attended, one still to come, one attended twice, one masked.
CoverageScene twoChunks() {
  CoverageScene scene;
  scene.chunks = 2;
  scene.selected = kFive;
  scene.ranks = {kFive, kSeven};
  scene.cells.resize(4);
  scene.cells[0] = {36, 36, RingStep::of(0), true, false};
  scene.cells[1] = {0, 0, {}, false, false};
  scene.cells[2] = {128, 64, RingStep::of(1), false, true};
  scene.cells[3] = {0, 36, {}, false, false};
  scene.painters = {kFive, {}, kSeven, {}};
  scene.work_done = {36, 128};
  scene.work_total = {72, 64};
  scene.wait_ns = {0, 3000};
  scene.doubled = 1;
  return scene;
}

TEST(CoveragePainterTest, DrawsWhoAttendedWhatAndSaysTheFault) {
  const CoverageScene scene = twoChunks();
  const auto picture = drawn({900, 560}, [&](QPainter& p, const QRectF& area) {
    paintCoverage(p, area, scene, 0, dark());
  });
  EXPECT_TRUE(has(*picture, "1 attended more than once")) << picture->words();
  EXPECT_EQ(picture->find("1 attended more than once")->color, dark().wrong);
  EXPECT_TRUE(has(*picture, "Rank 7 waits most."));
  EXPECT_TRUE(has(*picture, "3.0 "));
}

TEST(CoveragePainterTest, APointLeadsToItsPair) {
  const CoverageScene scene = twoChunks();
  const QRectF area(0, 0, 900, 560);
  const auto first = coverageHit({100, 100}, area, scene);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->query, 0);
  EXPECT_EQ(first->key, 0);
  const auto below = coverageHit({100, 400}, area, scene);
  ASSERT_TRUE(below);
  EXPECT_EQ(
      describePair(scene, below->query, below->key),
      "query chunk 1 × key chunk 0: attended by rank 7 at ring step 1: 128 pairs where the mask "
      "has 64");
  EXPECT_EQ(describePair(scene, 0, 1), "query chunk 0 × key chunk 1: masked");
  EXPECT_FALSE(coverageHit({10, 10}, area, scene));
}

/// Returns 60 tokens of rank 7; the position ids of the last 30 are wrong.
PositionsScene sixtyTokens() {
  PositionsScene scene;
  auto strip = std::make_shared<PositionStrip>();
  strip->rows = {{kFive, {{60, 0, 59, 0, false}}},
                 {kSeven, {{30, 60, 89, 60, false}, {30, 0, 29, 90, true}}}};
  strip->wrong = 30;
  strip->all = 120;
  scene.strip = strip;
  scene.table.rank = kSeven;
  for (std::int64_t i = 0; i < 60; ++i) {
    TokenCell cell;
    cell.global = TokenIndex::of(60 + i);
    cell.token = 'a';
    cell.position = i < 30 ? 60 + i : i - 30;
    cell.should_position = 60 + i;
    cell.begins_chunk = i == 0;
    scene.table.cells.push_back(cell);
  }
  scene.table.buffers = {{"position_ids", BufferCut::kOwn, {}, {1, 60}, 30, 60, ""}};
  return scene;
}

TEST(PositionsPainterTest, DrawsTokensFromTheFirstOnAndWhatTheBuffersAre) {
  const PositionsScene scene = sixtyTokens();
  const auto picture = drawn({900, 400}, [&](QPainter& p, const QRectF& area) {
    paintPositions(p, area, scene, 20, dark());
  });
  EXPECT_TRUE(has(*picture, "tokens 20 to")) << picture->words();
  EXPECT_TRUE(has(*picture, "30 of 60 differ"));
  EXPECT_NE(picture->exactly("80"), nullptr) << "the global index of token 20";
  EXPECT_EQ(picture->exactly("79"), nullptr);
  EXPECT_EQ(picture->exactly("110"), nullptr);
}

TEST(PositionsPainterTest, APointOnABarIsARankAndAShareOfItsShard) {
  const PositionsScene scene = sixtyTokens();
  const QRectF area(0, 0, 900, 600);
  const auto hit = positionsHit({84 + 0.5 * (900 - 24 - 84), 58 + 27 + 22 + 8}, area, scene);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->rank, kSeven);
  EXPECT_NEAR(hit->share, 0.5, 1e-9);
  EXPECT_FALSE(positionsHit({400, 590}, area, scene)) << "that is among the tokens";
  EXPECT_EQ(clampedFirst(1000, area, scene), std::max(0, 60 - visibleTokens(area, scene)));
  EXPECT_EQ(clampedFirst(-3, area, scene), 0);
}

PassScene onePass() {
  PassScene scene;
  scene.pass = test::placeAt(3, 1, Direction::kForward, 0);
  scene.selected = kSeven;
  scene.begin_ns = 1000;
  scene.end_ns = 3000;
  const GroupRank first = GroupRank::of(0), second = GroupRank::of(1);
  scene.lanes = {{kFive, {{1000, 2000}, {2000, 3000}}}, {kSeven, {{1000, 1800}, {2200, 3000}}}};
  scene.bars = {{first, traces::EventKind::kAttend, kFive, 1000, 1900},
                {second, traces::EventKind::kAttend, kSeven, 1000, 1800},
                {second, traces::EventKind::kWait, {}, 2200, 2500}};
  scene.flows = {{first, second, kFive, false, 1100, 2100}};
  return scene;
}

TEST(TimelinePainterTest, DrawsALaneARankAndBlocksWhereTheyWereAttended) {
  const PassScene scene = onePass();
  const auto picture = drawn(
      {1000, 200}, [&](QPainter& p, const QRectF& area) { paintPass(p, area, scene, dark()); });
  EXPECT_LT(picture->exactly("rank 5")->at.y(), picture->exactly("rank 7")->at.y());
  const test::DrawnText* block = picture->find("KV 5");
  ASSERT_NE(block, nullptr) << picture->words();
  const TimeScale scale = passScale(picture->area(), scene);
  EXPECT_GT(block->at.x(), scale.x(1000));
  EXPECT_LT(block->at.x(), scale.x(1900));
}

TEST(TimelinePainterTest, APointLeadsToARanksRingStepAndItsInstantIsDrawnThere) {
  const PassScene scene = onePass();
  const QRectF area(0, 0, 1000, 200);
  const TimeScale scale = passScale(area, scene);
  const PassHit hit = passHit({scale.x(2600), 150}, area, scene);
  EXPECT_EQ(hit.rank, kSeven);
  EXPECT_EQ(hit.place, test::placeAt(3, 1, Direction::kForward, 1));
  EXPECT_NEAR(hit.phase, 0.5, 0.005);
  EXPECT_NEAR(static_cast<double>(scene.instantAt(RingStep::of(1), hit.phase)), 2600, 4);
  EXPECT_NEAR(instantBox(area, scene, 2600).center().x(), scale.x(2600), 1e-6);
  EXPECT_EQ(passHit({scale.x(1500), 40}, area, scene).rank, kFive);
  EXPECT_TRUE(passHit({500, 100}, area, PassScene()).rank.isNone()) << "nothing is recorded";
}

TEST(RingTipTest, ShowsTheWordsThatHadNoRoomOnACard) {
  RingScene scene;
  for (int i = 0; i < 2; ++i) {
    RankScene rank;
    rank.rank = WorldRank::of(i);
    rank.chunks = {0, 3};
    rank.attending = "attends nothing: masked, for several reasons";
    scene.ranks.push_back(rank);
  }
  scene.ranks[1].waits = {{0, 1, 2'000'000, WorldRank::of(0)}};
  const QRectF area(0, 0, 708, 320);
  const RingLayout layout(area, 2);
  EXPECT_LT(layout.card(GroupRank::of(0)).right(), layout.card(GroupRank::of(1)).left())
      << "two stand side by side";
  const auto tip = [&](int seat) {
    return describeCardAt(layout.card(GroupRank::of(seat)).center(), area, scene);
  };
  EXPECT_EQ(tip(0), "rank 0 · chunks 0, 3\nattends nothing: masked, for several reasons");
  EXPECT_TRUE(tip(1).ends_with("\nwaits for rank 0 · 2.0 ms")) << tip(1);
  EXPECT_EQ(describeCardAt(area.center(), area, scene), "");
}

}  // namespace
}  // namespace ringscope::viz
