// SPDX-License-Identifier: Apache-2.0
// One trace that several threads read at the same time, and snapshots of a growing one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "tests/support/chunks_of_steps.h"
#include "tests/support/files.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/storage/sqlite_source.h"

namespace ringscope::traces {
namespace {

using test::eventsFor;
using test::kRanks;
using test::kStepNs;
using test::kSteps;
using test::placeFor;

constexpr int kThreads = 4, kTensors = 8;
constexpr int kMisdescribed = 7, kDamaged = 11;  // training steps
constexpr std::size_t kAdded = 2000;  // events in a chunk, so that the cache holds only some chunks

/// The values that a thread has read of a trace.
struct Read {
  std::vector<std::int64_t> begins;
  std::size_t of_places = 0, between = 0, visited = 0;
  std::vector<Place> places;
  std::vector<std::int32_t> steps;
  std::vector<double> values;
  std::vector<std::string> problems;  // sorted: their order depends on who decodes first
  friend bool operator==(const Read&, const Read&) = default;
};

std::vector<Event> longStep(int rank, int train_step) {
  std::vector<Event> events = eventsFor(rank, train_step);
  events.resize(kAdded, events.back());
  return events;
}

/// Returns the chunks of a recording in which one chunk of events is damaged and another has a
/// summary of other events.
std::vector<Chunk> recordedChunks() {
  std::vector<Chunk> chunks;
  const auto add = [&](Chunk chunk) -> Chunk& {
    chunk.seq = chunks.size() + 1;
    chunk.checksum = computeChecksum(chunk);
    return chunks.emplace_back(std::move(chunk));
  };
  for (int step = 0; step < kSteps; ++step)
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::vector<Event> events = longStep(rank, step);
      Chunk& chunk = add(makeChunk(std::span<const Event>(events)));
      const int claimed = step == kMisdescribed ? kMisdescribed + 1 : step;
      const ChunkHeader header = chunk;
      if (step == kDamaged) chunk.body.back() ^= 1;
      add(summaryChunk(header, summarizeEvents(longStep(rank, claimed))));
    }
  std::vector<TensorRecord> tensors;
  for (int id = 1; id <= kTensors; ++id) {
    TensorRecord& tensor = tensors.emplace_back();
    tensor.id = TensorId::of(id);
    tensor.tensor.kind = TensorKind::kQ;
    tensor.place = placeFor(id, 0);
    tensor.rank = WorldRank::of(0);
    tensor.dtype = DType::kFloat64;
    tensor.shape = {2};
    tensor.has_values = true;
    const std::array<double, 2> values = {id + 0.25, id + 0.5};
    Chunk chunk;
    chunk.kind = ChunkKind::kValues;
    chunk.key = static_cast<std::uint64_t>(id);
    chunk.rows = 1;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    chunk.body.assign(bytes, bytes + sizeof values);
    add(std::move(chunk));
  }
  add(makeChunk(std::span<const TensorRecord>(tensors)));
  return chunks;
}

std::shared_ptr<Trace> inMemory() {
  const auto source = std::make_shared<MemorySource>();
  for (Chunk& chunk : recordedChunks()) source->add(std::move(chunk));
  return readTrace(source);
}

/// Reads everything, beginning with another part per thread.
Read readAll(const Trace& trace, int thread) {
  Read read;
  const std::array<std::function<void()>, 6> parts = {
      [&] {
        for (int rank = 0; rank < kRanks; ++rank) {
          const RankEvents events = trace.events(WorldRank::of(rank));
          std::vector<const Event*> kept;
          for (const Event& event : events) kept.push_back(&event);
          std::ranges::transform(kept, std::back_inserter(read.begins), &Event::begin_ns);
        }
      },
      [&] {
        for (int step = 0; step < kSteps; ++step)
          if (step != kMisdescribed)  // is found there after its chunks have been decoded
            read.of_places +=
                trace.eventsAt(placeFor(step, 1), WorldRank::of(step % kRanks)).size();
      },
      [&] {
        for (int step = 0; step < kSteps; step += 3)
          read.between +=
              trace.eventsBetween(WorldRank::of(1), step * kStepNs, (step + 1) * kStepNs).size();
      },
      [&] {
        trace.visitEvents([&](std::span<const Event> some) {
          read.visited += some.size();
          return true;
        });
      },
      [&] {
        for (const TensorRecord& tensor : trace.tensors()) {
          const auto values = trace.values(tensor);
          if (values) read.values.insert(read.values.end(), values->begin(), values->end());
        }
      },
      [&] { (void)trace.problems(); }};
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[(i + static_cast<std::size_t>(thread)) % parts.size()]();
  const std::array<WorldRank, 2> ranks = {WorldRank::of(0), WorldRank::of(1)};
  read.places = trace.places(ranks);
  read.steps = trace.trainingSteps();
  read.problems = trace.problems();
  std::ranges::sort(read.problems);
  return read;
}

/// Returns what each of four threads reads of the same trace at the same time.
std::vector<Read> readByThreads(const Trace& trace) {
  std::vector<Read> reads(kThreads);
  std::atomic<int> ready = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        reads[static_cast<std::size_t>(i)] = readAll(trace, i);
      });
  }
  return reads;
}

void expectTheSame(const Trace& alone, const Trace& shared) {
  const Read expected = readAll(alone, 0);
  ASSERT_EQ(expected.begins.size(), (kRanks * kSteps - 2) * kAdded) << "without two damaged chunks";
  ASSERT_EQ(expected.values.size(), std::size_t{2 * kTensors});
  const auto of_chunks = std::ranges::count_if(
      expected.problems, [](const std::string& problem) { return problem.starts_with("chunk "); });
  ASSERT_EQ(of_chunks, 4) << "two damaged chunks, two wrong summaries";
  for (const Read& read : readByThreads(shared)) EXPECT_TRUE(read == expected);
  EXPECT_EQ(shared.eventCount(), alone.eventCount());
  EXPECT_EQ(shared.endNs(), alone.endNs());
}

TEST(SharedTraceTest, FourThreadsReadInMemoryWhatOneReads) {
  expectTheSame(*inMemory(), *inMemory());
}

TEST(SharedTraceTest, FourThreadsReadOneFileAsOneThreadDoes) {
  const test::TempDir dir;
  const std::string path = dir.file("run.rscope");
  SqliteSink sink(path);
  for (const Chunk& chunk : recordedChunks())
    if (chunk.kind != ChunkKind::kSummaries) sink.write(chunk);
  sink.close();
  const auto alone = readTrace(std::make_shared<SqliteSource>(path)),
             shared = readTrace(std::make_shared<SqliteSource>(path));
  const Read expected = readAll(*alone, 0);
  EXPECT_FALSE(expected.problems.empty()) << "two chunks are damaged";
  for (const Read& read : readByThreads(*shared)) EXPECT_TRUE(read == expected);
}

TEST(SharedTraceTest, MomentsStayWhileAnotherThreadCorrectsSummaries) {
  const auto trace = inMemory();
  const std::vector<Place>& moments = trace->moments();
  const std::vector<Place> before = moments;
  const auto snapshot = trace->snapshot();
  snapshot->readEvents();
  trace->visitEvents([](std::span<const Event>) { return true; });
  EXPECT_EQ(&trace->moments(), &moments);
  EXPECT_EQ(moments, before);
  EXPECT_NE(snapshot->moments(), before) << "one damaged and one other training step";
}

TEST(SnapshotTest, StaysAsItIsWhileTheTraceGrows) {
  Trace growing;
  growing.add(std::span<const Event>(eventsFor(0, 0)));
  growing.add(ShardRecord{.buffer = "q", .rank = WorldRank::of(0)});
  const auto snapshot = growing.snapshot();
  std::atomic<bool> done = false;
  std::jthread reader([&] {
    while (!done) {
      EXPECT_EQ(snapshot->events(WorldRank::of(0)).size(), eventsFor(0, 0).size());
      EXPECT_EQ(snapshot->shards().size(), 1u);
      EXPECT_EQ(snapshot->moments().size(), std::size_t{test::kStages});
    }
  });
  for (int step = 1; step < 50; ++step) {
    growing.add(std::span<const Event>(eventsFor(0, step)));
    growing.add(ShardRecord{.buffer = "q", .train_step = step, .rank = WorldRank::of(0)});
  }
  done = true;
  reader.join();
  EXPECT_EQ(growing.events(WorldRank::of(0)).size(), 50 * eventsFor(0, 0).size());
  EXPECT_EQ(growing.shards().size(), 50u);
  EXPECT_EQ(growing.moments().size(), std::size_t{50 * test::kStages});
}

TEST(SnapshotTest, GetsNoTimesThatAreRecordedLater) {
  Trace growing;
  Event event = test::eventAt(0, placeFor(0, 0), 10, 10);
  event.pending = 1;
  growing.add(std::span<const Event>(&event, 1));
  const auto snapshot = growing.snapshot();
  const TimesRecord times{WorldRank::of(0), 1, 100, 110, 200};
  growing.add(std::span<const TimesRecord>(&times, 1));
  EXPECT_EQ(growing.events(WorldRank::of(0)).front().end_ns, 200);
  EXPECT_EQ(snapshot->events(WorldRank::of(0)).front().end_ns, 10);
  EXPECT_EQ(snapshot->endNs(), 10);
}

TEST(SnapshotTest, SharesTheEventsThatWereAdded) {
  Trace growing;
  growing.add(std::span<const Event>(eventsFor(0, 0)));
  const auto snapshot = growing.snapshot();
  const RankEvents a = growing.events(WorldRank::of(0)), b = snapshot->events(WorldRank::of(0));
  EXPECT_EQ(&a.front(), &b.front());
  EXPECT_EQ(&growing.moments(), &snapshot->moments());
}

}  // namespace
}  // namespace ringscope::traces
