// SPDX-License-Identifier: GPL-3.0-or-later
// The cached results of a session are only used for the trace and the cursor that they were made
// from.
#include "viz/session/kept.h"

#include <gtest/gtest.h>

#include "tests/viz/recorded_ring.h"
#include "tests/viz/small_run.h"
#include "viz/session/viewing.h"

namespace ringscope::viz {
namespace {

TEST(KeptTest, AValueIsOnlyGivenForTheDataAndKeyThatItWasMadeFrom) {
  Kept<int, int> kept;
  int made = 0;
  const auto make = [&] { return ++made; };
  const auto always = [](const int&) { return true; };
  EXPECT_EQ(*kept.get({1, 1}, 5, make), 1);
  EXPECT_EQ(*kept.get({1, 1}, 5, make), 1);
  EXPECT_EQ(*kept.get({1, 1}, 6, make), 2) << "another key";
  EXPECT_EQ(*kept.get({1, 2}, 6, make), 3) << "the trace has grown";
  EXPECT_EQ(*kept.get({1, 3}, 6, make, always), 3) << "growing cannot change it";
  EXPECT_EQ(*kept.get({2, 3}, 6, make, always), 4) << "another trace";
}

TEST(SessionTest, PositionsOfARecordingAreNotShownForTheNextOne) {
  test::RingRun restarting;
  restarting.restarts_positions = true;
  Viewing viewing;
  viewing.session.open(test::recordedTrace({}), "right", false);
  const Cursor cursor = viewing.navigator.cursor();
  EXPECT_EQ(viewing.session.positions(cursor)->verdict(), "✓ all 128 as they should be");
  viewing.session.open(test::recordedTrace(restarting), "wrong", false);
  EXPECT_NE(viewing.session.positions(cursor)->wrong, 0);
  test::RingRun two_ranks;
  two_ranks.cp = 2;
  viewing.session.grow(test::recordedTrace(two_ranks));
  EXPECT_EQ(viewing.session.positions(cursor)->rows.size(), 2u);
}

TEST(SessionTest, TracksOfALongLiveRunAreMadeAgainWhenItHasEnded) {
  Viewing viewing;
  const auto trace = std::make_shared<traces::Trace>();
  viewing.session.open(trace, "live", true);
  constexpr int kKeptRanks = 32, kLayers = 20;  // more events than are read at once
  viewing.session.addChunk(test::makeChunk(test::eventsOfStep(0, kKeptRanks, kLayers)));
  const auto early = viewing.session.tracks(0);
  viewing.session.addChunk(test::makeChunk(test::eventsOfStep(1, kKeptRanks, kLayers)));
  viewing.session.setLive(false);
  EXPECT_GT(viewing.session.tracks(0)->spans, early->spans);
}

}  // namespace
}  // namespace ringscope::viz
