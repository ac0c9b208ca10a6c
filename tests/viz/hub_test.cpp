// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/hub/hub.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/viz/sample_trace.h"
#include "traces/storage/sqlite_source.h"

namespace ringscope::viz {
namespace {

using traces::Direction;

TEST(HubTest, ASceneAskedForBeforePublishHasEveryRankThatTheTraceHas) {
  Hub hub;
  hub.setTrace(std::make_shared<traces::Trace>(), "live", true);
  EXPECT_TRUE(hub.scene().ranks.empty());
  traces::SqliteSource source(test::sampleTraceFile(4, {}));
  source.readRange(0, std::numeric_limits<std::int32_t>::max(), [&](const traces::Chunk& chunk) {
    hub.addChunk(chunk);
    const int ranks = hub.empty() ? 0 : hub.trace().worldSize();
    EXPECT_EQ(hub.scene().ranks.size(), static_cast<std::size_t>(ranks));
  });
  EXPECT_EQ(hub.scene().ranks.size(), 4u);
}

TEST(HubTest, NextDivergenceGoesWhereAnErrorIsBorn) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {"naive_sum_merge"}), "sample", false);
  hub.setPlace({1, 1, Direction::kBackward, 0});
  hub.nextDivergence();
  EXPECT_EQ(hub.place(), (Place{0, 0, Direction::kForward, 0}));
  hub.setTrace(test::sampleTrace(4, {}), "sample", false);
  hub.setMoment(5, 0);
  hub.nextDivergence();
  EXPECT_EQ(hub.moment(), 5) << "there is none";
}

TEST(HubTest, MovesStopAtBothEndsAndRememberTheMoment) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {}), "sample", false);
  hub.move(-1);
  EXPECT_EQ(hub.moment(), 0);
  hub.move(3);
  EXPECT_EQ(hub.moment(), 3);
  hub.moveTrainStep(1);
  EXPECT_EQ(hub.place().train_step, 1);
  EXPECT_EQ(hub.place().stage, 3);
  hub.move(100000);
  EXPECT_EQ(hub.moment(), static_cast<int>(hub.trace().moments().size()) - 1);
}

TEST(HubTest, TheAnimationClockTakesARingStepIn1200ms) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {}), "sample", false);
  hub.setPlaying(true);
  for (int i = 0; i < 6; ++i) hub.advance(0.1);
  EXPECT_EQ(hub.moment(), 0);
  EXPECT_NEAR(hub.phase(), 0.5, 1e-9);
  hub.setSpeed(4);
  hub.advance(0.3);
  EXPECT_EQ(hub.moment(), 1);
  EXPECT_NEAR(hub.phase(), 0.5, 1e-9);
  hub.advance(1e6);
  EXPECT_FALSE(hub.playing()) << "a finished recording ends";
}

TEST(HubTest, OnTheTimeAxisEveryRankStandsWhereItWasAtThatInstant) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {}), "sample", false);
  hub.setPlace({1, 0, Direction::kForward, 2});
  hub.setMoment(hub.moment(), 0.5);
  hub.setAxis(Axis::kTime);
  const auto instant = hub.instant();
  for (const RankScene& rank : hub.scene().ranks) {
    EXPECT_LE(rank.begin_ns, instant);
    EXPECT_GE(hub.phaseOf(rank), 0.0);
    EXPECT_LE(hub.phaseOf(rank), 1.0);
  }
}

}  // namespace
}  // namespace ringscope::viz
