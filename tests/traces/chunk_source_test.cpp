// SPDX-License-Identifier: Apache-2.0
// The read model over a source of chunks, and the chunks that it decodes.
#include "traces/format/storage/chunk_source.h"

#include <gtest/gtest.h>

#include "tests/support/chunks_of_steps.h"
#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::traces {
namespace {

using test::CountingSource;
using test::eventAt;
using test::eventsFor;
using test::kRanks;
using test::kStages;
using test::kStepNs;
using test::kSteps;
using test::placeAt;
using test::placeFor;
using test::twoHundredChunks;

/// Returns the number of the chunk of a rank's training step; its summary follows it.
std::uint64_t chunkOfStep(int rank, int train_step) {
  return (static_cast<std::uint64_t>(train_step) * kRanks + static_cast<std::uint64_t>(rank)) * 2 +
         1;
}

/// Returns the problems, except that the end record does not count the chunks that tests add.
std::vector<std::string> damage(const Trace& trace) {
  auto problems = trace.problems();
  std::erase_if(problems, [](const std::string& s) { return s.find("are missing") != s.npos; });
  return problems;
}

TEST(ChunkSourceTest, OpeningDecodesNoChunkOfEventsThatHasASummary) {
  const auto source = twoHundredChunks();
  const auto trace = readTrace(source);
  EXPECT_EQ(trace->worldSize(), kRanks);
  EXPECT_EQ(trace->eventCount(), std::size_t{kRanks * kSteps * kStages * 2});
  EXPECT_EQ(trace->eventCount(WorldRank::of(1)), std::size_t{kSteps * kStages * 2});
  EXPECT_EQ(trace->endNs(), (kSteps - 1) * kStepNs + 800);
  ASSERT_EQ(trace->moments().size(), std::size_t{kSteps * kStages});
  EXPECT_EQ(trace->moments()[5], placeFor(1, 1));
  EXPECT_TRUE(source->takeRead().empty());
}

TEST(ChunkSourceTest, ShowingOneStepDecodesOnlyTheChunksOfThatStep) {
  const auto source = twoHundredChunks();
  const auto trace = readTrace(source);
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto events = trace->eventsAt(placeFor(70, 2), WorldRank::of(rank));
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].begin_ns, 70 * kStepNs + 400);
    EXPECT_EQ(events[1].begin_ns, 70 * kStepNs + 500);
  }
  EXPECT_EQ(source->takeRead(), (std::set{chunkOfStep(0, 70), chunkOfStep(1, 70)}));
  trace->eventsAt(placeFor(70, 3), WorldRank::of(0));
  EXPECT_TRUE(source->takeRead().empty()) << "a chunk is decoded once";
  EXPECT_TRUE(trace->eventsAt(placeFor(70, 9), WorldRank::of(0)).empty());
  EXPECT_TRUE(trace->eventsAt(placeFor(70, 0), WorldRank::of(7)).empty());
  EXPECT_TRUE(damage(*trace).empty());
}

TEST(ChunkSourceTest, AStretchOfTimeDecodesOnlyTheChunksThatTouchIt) {
  const auto source = twoHundredChunks();
  const auto trace = readTrace(source);
  const auto events =
      trace->eventsBetween(WorldRank::of(1), 30 * kStepNs + 150, 30 * kStepNs + 250);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].place, placeFor(30, 0));
  EXPECT_EQ(events[1].place, placeFor(30, 1));
  EXPECT_EQ(source->takeRead(), std::set{chunkOfStep(1, 30)});
}

TEST(ChunkSourceTest, ARangeOfPlacesComesInTheOrderOfRecording) {
  const auto source = std::make_shared<CountingSource>();
  const Place first = placeFor(0, 1), second = placeFor(0, 2);
  const std::vector<Event> events = {eventAt(0, second, 0, 1), eventAt(0, first, 1, 2),
                                     eventAt(0, second, 2, 3)};
  source->add(std::span<const Event>(events));
  const auto trace = readTrace(source);
  std::vector<std::int64_t> begins;
  for (const Event& event : trace->eventsAt(first, second, WorldRank::of(0)))
    begins.push_back(event.begin_ns);
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(ChunkSourceTest, AllEventsOfARankAreThoseOfItsChunksInTheirOrder) {
  const auto source = twoHundredChunks();
  const auto trace = readTrace(source);
  std::int64_t last = -1;
  std::size_t count = 0;
  for (const Event& event : trace->events(WorldRank::of(0))) {
    EXPECT_GT(event.begin_ns, last);
    last = event.begin_ns;
    ++count;
  }
  EXPECT_EQ(count, trace->eventCount(WorldRank::of(0)));
  EXPECT_EQ(trace->events(WorldRank::of(0))[9].place, placeFor(1, 0));
  EXPECT_EQ(source->takeRead().size(), std::size_t{kSteps}) << "none of the other rank";
}

TEST(ChunkSourceTest, AChunkWithoutASummaryIsDecodedAtOnce) {
  auto source = std::make_shared<CountingSource>();
  const auto events = eventsFor(0, 0);
  Chunk chunk = makeChunk(std::span<const Event>(events));
  chunk.seq = 1;
  chunk.checksum = computeChecksum(chunk);
  source->add(chunk);
  const auto trace = readTrace(source);
  EXPECT_EQ(source->takeRead().size(), 1u);
  EXPECT_EQ(trace->eventCount(), events.size());
  EXPECT_EQ(trace->moments().size(), std::size_t{kStages});
}

TEST(ChunkSourceTest, TimesThatComeLaterReachEventsThatAreDecodedLater) {
  auto source = std::make_shared<CountingSource>();
  Event event = eventAt(0, placeFor(0, 0), 0, 0);
  event.pending = 4;
  source->add(event);
  source->add(TimesRecord{WorldRank::of(0), 4, 500, 600, 700});
  source->add(TimesRecord{WorldRank::of(0), 5, 500, 600, 700});
  const auto trace = readTrace(source);
  EXPECT_EQ(trace->endNs(), 700);
  EXPECT_TRUE(source->takeRead().empty());
  const auto found = trace->eventsBetween(WorldRank::of(0), 550, 560);
  ASSERT_EQ(found.size(), 1u) << "wherever the summary says that it is";
  EXPECT_EQ(found.front().start_ns, 600);
  EXPECT_EQ(found.front().pending, 0u);
  trace->readEvents();
  EXPECT_EQ(damage(*trace).back(), "times were recorded of an event that is not there");
}

TEST(SparseRecordingTest, EventsWithoutRingStepsAreFoundByPlaceAndByTime) {
  auto source = std::make_shared<CountingSource>();
  const Place layer = placeAt(0, 3, Direction::kForward, -1),
              outside = placeAt(0, -1, Direction::kForward, -1);
  const std::vector<Event> events = {eventAt(0, outside, 0, 10), eventAt(0, layer, 10, 30)};
  source->add(std::span<const Event>(events));
  const auto trace = readTrace(source);
  EXPECT_TRUE(trace->moments().empty());
  EXPECT_EQ(trace->eventCount(), 2u);
  EXPECT_EQ(trace->eventsAt(layer, WorldRank::of(0)).size(), 1u);
  EXPECT_EQ(trace->eventsAt(outside, WorldRank::of(0)).size(), 1u);
  EXPECT_EQ(trace->eventsBetween(WorldRank::of(0), 20, 25).front().place, layer);
  EXPECT_TRUE(damage(*trace).size() == 1) << "that it has no end";
}

TEST(SparseRecordingTest, WithoutTensorsTheDoctorCannotTellAndFindsNothing) {
  const auto trace = readTrace(twoHundredChunks());
  const auto diagnosis = diagnose(*trace);
  EXPECT_TRUE(diagnosis.findings().empty());
  EXPECT_TRUE(damage(*trace).empty());
}

TEST(SparseRecordingTest, OneRankOfManyIsARecording) {
  auto source = std::make_shared<CountingSource>();
  source->add(std::span<const Event>(eventsFor(5, 0)));
  const auto trace = readTrace(source);
  EXPECT_EQ(trace->worldSize(), 6);
  EXPECT_EQ(trace->eventCount(WorldRank::of(0)), 0u);
  EXPECT_TRUE(trace->events(WorldRank::of(0)).empty());
  EXPECT_EQ(trace->eventsAt(placeFor(0, 1), WorldRank::of(5)).size(), 2u);
  EXPECT_TRUE(trace->eventsAt(placeFor(0, 1), WorldRank::of(0)).empty());
}

}  // namespace
}  // namespace ringscope::traces
