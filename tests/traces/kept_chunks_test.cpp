// SPDX-License-Identifier: Apache-2.0
// The parts of a recording that stay decoded; parts that were released are decoded again without
// change.
#include "traces/format/trace/kept_chunks.h"

#include <gtest/gtest.h>

#include "tests/support/chunks_of_steps.h"

namespace ringscope::traces {
namespace {

using test::CountingSource;
using test::eventAt;
using test::placeFor;

KeptChunks::Decoded chunkOfEvents(std::size_t events) {
  auto decoded = std::make_shared<DecodedChunk>();
  decoded->ranks.emplace_back(WorldRank::of(0), std::make_shared<RunEvents>());
  decoded->ranks.front().second->events.resize(events);
  return decoded;
}

TEST(KeptChunksTest, KeepsTheMostRecentlyUsedChunks) {
  KeptChunks kept;
  kept.keep(1, chunkOfEvents(4), 10);
  kept.keep(2, chunkOfEvents(4), 10);
  EXPECT_NE(kept.find(1), nullptr) << "so 2 is the one that was not asked for the longest";
  kept.keep(3, chunkOfEvents(4), 10);
  EXPECT_NE(kept.find(1), nullptr);
  EXPECT_EQ(kept.find(2), nullptr);
  EXPECT_NE(kept.find(3), nullptr);
}

TEST(KeptChunksTest, OneThatIsLargerThanTheRoomIsKeptAlone) {
  KeptChunks kept;
  kept.keep(1, chunkOfEvents(1), 10);
  kept.keep(2, chunkOfEvents(50), 10);
  EXPECT_EQ(kept.find(1), nullptr);
  EXPECT_NE(kept.find(2), nullptr);
}

constexpr int kManyChunks = 40, kInEach = 8192;

/// Returns two ranks with more events each than are kept.
std::shared_ptr<CountingSource> manyEvents() {
  auto source = std::make_shared<CountingSource>();
  for (int chunk = 0; chunk < kManyChunks; ++chunk)
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<Event> events;
      for (int i = 0; i < kInEach; ++i) {
        const std::int64_t begin = (std::int64_t{chunk} * kInEach + i) * 10;
        events.push_back(eventAt(rank, placeFor(chunk, i % 4), begin, begin + 5 + rank));
      }
      source->add(std::span<const Event>(events));
    }
  return source;
}

TEST(KeptEventsTest, IteratingAllEventsKeepsFewAndFindsTheSameAgain) {
  const auto source = manyEvents();
  const auto trace = readTrace(source);
  trace->readEvents();
  EXPECT_EQ(source->takeRead().size(), std::size_t{2 * kManyChunks});
  for (int turn = 0; turn < 2; ++turn) {
    std::int64_t next = 0;
    for (const Event& event : trace->events(WorldRank::of(1))) {
      ASSERT_EQ(event.begin_ns, next);
      ASSERT_EQ(event.end_ns, next + 6);
      next += 10;
    }
    EXPECT_EQ(next, std::int64_t{kManyChunks} * kInEach * 10);
  }
  EXPECT_LT(trace->eventsAt(placeFor(0, 1), WorldRank::of(0)).size(), std::size_t{kInEach});
  EXPECT_EQ(source->takeRead().count(1), 1u) << "it was let go since";
}

TEST(KeptEventsTest, EventsOfARankStayAsLongAsTheViewOfThem) {
  const auto trace = readTrace(manyEvents());
  std::vector<const Event*> firsts;
  const RankEvents events = trace->events(WorldRank::of(0));
  for (const Event& event : events)
    if (event.begin_ns % (std::int64_t{kInEach} * 10) == 0) firsts.push_back(&event);
  ASSERT_EQ(firsts.size(), std::size_t{kManyChunks});
  EXPECT_FALSE(trace->events(WorldRank::of(1)).empty()) << "evicts the chunks of rank 0";
  for (std::size_t i = 0; i < firsts.size(); ++i)
    EXPECT_EQ(firsts[i]->begin_ns, static_cast<std::int64_t>(i) * kInEach * 10);
}

TEST(KeptEventsTest, TheCurrentEventStaysWhileAnotherRankIsIterated) {
  const auto trace = readTrace(manyEvents());
  std::size_t seen = 0;
  for (const Event& event : trace->events(WorldRank::of(0))) {
    if (event.begin_ns % (std::int64_t{kInEach} * 200) == 0)
      for (const Event& other : trace->events(WorldRank::of(1))) seen += other.bytes == 0;
    ASSERT_EQ(event.end_ns - event.begin_ns, 5);
  }
  EXPECT_EQ(seen, std::size_t{kManyChunks / 20 * kManyChunks} * kInEach);
}

TEST(KeptEventsTest, LateTimesAreThereAgainWhenAChunkIsDecodedAgain) {
  const auto source = manyEvents();
  Event late = eventAt(1, placeFor(999, 0), 0, 0);
  late.pending = 3;
  source->add(late);
  source->add(TimesRecord{WorldRank::of(1), 3, 100, 200, 300});
  const auto trace = readTrace(source);
  for (int turn = 0; turn < 2; ++turn) {
    trace->events(WorldRank::of(0));
    for (const Event& event : trace->events(WorldRank::of(0))) EXPECT_EQ(event.pending, 0u);
    const auto found = trace->eventsAt(placeFor(999, 0), WorldRank::of(1));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.front().start_ns, 200);
  }
  trace->readEvents();
  for (const auto& problem : trace->problems())
    EXPECT_EQ(problem.find("times were recorded"), std::string::npos) << problem;
}

}  // namespace
}  // namespace ringscope::traces
