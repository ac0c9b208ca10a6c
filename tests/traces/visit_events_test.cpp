// SPDX-License-Identifier: Apache-2.0
// All events of a file, one chunk after the other.
#include <gtest/gtest.h>

#include "tests/support/chunks_of_steps.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/storage/sqlite_sink.h"

namespace ringscope::traces {
namespace {

std::string recorded(const test::TempDir& dir, const std::vector<Chunk>& chunks) {
  const std::string path = dir.file("run.rscope");
  SqliteSink sink(path);
  std::uint64_t seq = 0;
  for (Chunk chunk : chunks) {
    chunk.seq = ++seq;
    chunk.checksum = computeChecksum(chunk);
    sink.write(chunk);
  }
  sink.close();
  return path;
}

TEST(VisitEventsTest, HandsOverWhatATraceHas) {
  const test::TempDir dir;
  std::vector<Chunk> chunks;
  for (int step = 0; step < 5; ++step)
    for (int rank = 0; rank < 2; ++rank)
      chunks.push_back(makeChunk(std::span<const Event>(test::eventsFor(rank, step))));
  const std::string path = recorded(dir, chunks);
  std::vector<std::vector<std::int64_t>> begins(2);
  openTrace(path)->visitEvents([&](std::span<const Event> events) {
    for (const Event& event : events) begins[event.rank.index()].push_back(event.begin_ns);
    return true;
  });
  const auto trace = openTrace(path);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<std::int64_t> expected;
    for (const Event& event : trace->events(WorldRank::of(rank)))
      expected.push_back(event.begin_ns);
    EXPECT_EQ(begins[static_cast<std::size_t>(rank)], expected) << rank;
    EXPECT_EQ(expected.size(), 40u);
  }
}

TEST(VisitEventsTest, StopsWhenAskedTo) {
  const test::TempDir dir;
  std::vector<Chunk> chunks;
  for (int rank = 0; rank < 3; ++rank)
    chunks.push_back(makeChunk(std::span<const Event>(test::eventsFor(rank, 0))));
  int calls = 0;
  openTrace(recorded(dir, chunks))->visitEvents([&](std::span<const Event>) {
    return ++calls < 2;
  });
  EXPECT_EQ(calls, 2);
}

TEST(VisitEventsTest, TimesThatCameLaterAreThoseOfTheEvent) {
  const test::TempDir dir;
  Event late = test::eventAt(0, test::placeFor(0, 0), 10, 10), never = late;
  late.pending = 1;
  never.pending = 2;
  const std::vector<Event> events = {late, never};
  const std::vector<TimesRecord> times = {{WorldRank::of(0), 1, 100, 110, 200}};
  const std::string path = recorded(dir, {makeChunk(std::span<const Event>(events)),
                                          makeChunk(std::span<const TimesRecord>(times))});
  std::vector<Event> seen;
  openTrace(path)->visitEvents([&](std::span<const Event> some) {
    seen.insert(seen.end(), some.begin(), some.end());
    return true;
  });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].begin_ns, 100);
  EXPECT_EQ(seen[0].end_ns, 200);
  EXPECT_EQ(seen[1].begin_ns, 10) << "of whose times nothing came";
}

TEST(VisitEventsTest, ADamagedChunkIsLeftOutAndTheRestIsRead) {
  const test::TempDir dir;
  Chunk wrong = makeChunk(std::span<const Event>(test::eventsFor(0, 0)));
  wrong.body.resize(wrong.body.size() / 2);
  std::size_t seen = 0;
  openTrace(recorded(dir, {wrong, makeChunk(std::span<const Event>(test::eventsFor(0, 1)))}))
      ->visitEvents([&](std::span<const Event> some) {
        seen += some.size();
        return true;
      });
  EXPECT_EQ(seen, 8u);
}

}  // namespace
}  // namespace ringscope::traces
