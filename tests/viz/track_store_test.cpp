// SPDX-License-Identifier: GPL-3.0-or-later
// The sources of tracks: all at once, step by step during a run, and from the file.
#include <gtest/gtest.h>

#include <QSignalSpy>

#include "tests/support/files.h"
#include "tests/viz/small_run.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/storage/sqlite_sink.h"
#include "viz/session/session.h"

namespace ringscope::viz {
namespace {

TEST(TrackStoreTest, ASmallRecordingHasAllTracksAtOnce) {
  Session session;
  session.open(test::smallRun(3, 4, 2), "run", false);
  const auto tracks = session.tracks(1);
  EXPECT_TRUE(tracks->whole);
  EXPECT_EQ(tracks->steps.size(), 3u);
  EXPECT_EQ(session.tracks(2), tracks) << "made once";
  EXPECT_EQ(session.tracksRead(), 1);
}

/// Returns pauses of all `ranks` for 500 ns at the end of a training step.
std::vector<traces::Event> pausesAfter(int train_step, int ranks) {
  std::vector<traces::Event> events;
  for (int rank = 0; rank < ranks; ++rank) {
    traces::Event& event = events.emplace_back();
    event.kind = traces::EventKind::kPause;
    event.place.train_step = train_step;
    event.rank = WorldRank::of(rank);
    event.begin_ns = event.start_ns = 900'000'000;
    event.end_ns = event.begin_ns + 500;
  }
  return events;
}
const std::vector<TimeFold> kHeld = {{900'000'000, 900'000'500}};

TEST(TrackStoreTest, PausesOfASmallRecordingAndOfALiveRunAreThereAtOnce) {
  for (const bool live : {false, true}) {
    const auto trace = test::smallRun(3, 4, 2);
    trace->add(test::makeChunk(pausesAfter(2, 4)));
    Session session;
    session.open(trace, "run", live);
    EXPECT_EQ(session.pauses(WorldRank::of(1)).all(), kHeld) << live;
  }
}

TEST(TrackStoreTest, ALiveRunHasTheStepsAroundTheViewedOne) {
  Session session;
  session.open(test::smallRun(9, 4, 2), "run", true);
  const auto tracks = session.tracks(5);
  EXPECT_FALSE(tracks->whole);
  ASSERT_EQ(tracks->steps.size(), 3u);
  EXPECT_EQ(tracks->steps.front().train_step, 4);
  session.setLive(false);
  EXPECT_TRUE(session.tracks(5)->whole);
}

TEST(TrackStoreTest, ALargeRecordingIsReadBesideTheWindow) {
  const test::TempDir dir;
  const std::string path = dir.file("large.rscope");
  traces::SqliteSink sink(path);
  constexpr int kSteps = 700;
  for (int step = 0; step <= kSteps; ++step) {
    traces::Chunk chunk = test::makeChunk(step < kSteps ? test::eventsOfStep(step, 4, 4)
                                                        : pausesAfter(kSteps - 1, 4));
    chunk.seq = static_cast<std::uint64_t>(step) + 1;
    chunk.checksum = traces::computeChecksum(chunk);
    sink.write(chunk);
  }
  sink.close();
  Session session;
  session.open(traces::openTrace(path), "large", false);
  ASSERT_GT(session.trace().eventCount(), 60'000u);
  session.readTracks();
  EXPECT_LT(session.tracksRead(), 1);
  const auto near = session.tracks(300);
  EXPECT_FALSE(near->whole);
  EXPECT_EQ(near->steps.size(), 3u) << "a useful picture at once";
  EXPECT_TRUE(session.pauses(WorldRank::of(1)).empty()) << "not all is decoded for them";
  QSignalSpy changed(&session, &Session::stateChanged);
  ASSERT_TRUE(changed.wait(20'000));
  EXPECT_EQ(session.tracksRead(), 1);
  const auto all = session.tracks(300);
  EXPECT_TRUE(all->whole);
  EXPECT_EQ(all->steps.size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(session.pauses(WorldRank::of(1)).all(), kHeld);
  EXPECT_EQ(all->spans, session.trace().eventCount()) << "there are no receives in it";
}

}  // namespace
}  // namespace ringscope::viz
