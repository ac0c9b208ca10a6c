// SPDX-License-Identifier: Apache-2.0
#include "traces/format/recording/recorder.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/tensor_named.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

/// A sink that keeps what it is given; it can fail from the n-th write on.
class MemorySink : public ChunkSink {
 public:
  struct Kept {
    std::vector<Chunk> chunks;
    int flushes = 0;
    bool closed = false;
  };
  explicit MemorySink(std::shared_ptr<Kept> kept, int fail_at = -1)
      : kept_(std::move(kept)), fail_at_(fail_at) {}
  void write(const Chunk& chunk) override {
    if (fail_at_ >= 0 && static_cast<int>(kept_->chunks.size()) >= fail_at_)
      throw inputError("disk full");
    kept_->chunks.push_back(chunk);
  }
  void flush() override { ++kept_->flushes; }
  void close() override { kept_->closed = true; }

 private:
  std::shared_ptr<Kept> kept_;
  int fail_at_;
};

std::unique_ptr<Recorder> recorderInto(std::shared_ptr<MemorySink::Kept> kept, int ranks,
                                       RecorderOptions options = {}, int fail_at = -1) {
  std::vector<std::unique_ptr<ChunkSink>> sinks;
  sinks.push_back(std::make_unique<MemorySink>(std::move(kept), fail_at));
  return std::make_unique<Recorder>(ranks, std::move(sinks), options);
}

std::size_t eventsIn(const MemorySink::Kept& kept) {
  std::size_t count = 0;
  for (const Chunk& chunk : kept.chunks)
    if (chunk.kind == ChunkKind::kEvents) count += decodeRows<Event>(chunk).size();
  return count;
}

/// Returns options of a recorder that writes all the time and has room for this many events per
/// rank.
RecorderOptions busyWriter(std::size_t events) {
  RecorderOptions options;
  options.commit_interval = std::chrono::milliseconds(1);
  options.events_per_rank = events;
  return options;
}

TEST(RecorderTest, TimesThatAreKnownLaterReachTheirEvent) {
  auto kept = std::make_shared<MemorySink::Kept>();
  constexpr std::uint32_t kEvents = 20'000;
  {
    auto recorder = recorderInto(kept, 1, busyWriter(kEvents));
    for (std::uint32_t i = 1; i <= kEvents; ++i) {
      Event e;
      e.rank = WorldRank::of(0);
      e.pending = i;
      recorder->event(e);
      recorder->record(TimesRecord{WorldRank::of(0), i, i, i + 1, i + 2});
    }
  }
  Trace trace;
  for (const Chunk& chunk : kept->chunks) trace.add(chunk);
  EXPECT_TRUE(trace.problems().empty()) << trace.problems().front();
  const auto& events = trace.events(WorldRank::of(0));
  ASSERT_EQ(events.size(), kEvents);
  for (std::uint32_t i = 1; i <= kEvents; ++i) {
    ASSERT_EQ(events[i - 1].begin_ns, i);
    ASSERT_EQ(events[i - 1].start_ns, i + 1);
    ASSERT_EQ(events[i - 1].end_ns, i + 2);
  }
}

TEST(RecorderTest, PlansAreWrittenBeforeTheEventsThatFollowThem) {
  auto kept = std::make_shared<MemorySink::Kept>();
  constexpr std::int32_t kPlanned = 20'000;
  {
    auto recorder = recorderInto(kept, 2, busyWriter(kPlanned));
    for (std::int32_t step = 1; step <= kPlanned; ++step) {
      ScheduleRecord schedule;
      schedule.train_step = step;
      recorder->record(schedule);
      Event event;
      event.rank = WorldRank::of(step % 2);
      event.place.train_step = step;
      recorder->event(event);
    }
  }
  std::int32_t planned = 0;
  std::size_t events = 0;
  for (const Chunk& chunk : kept->chunks) {
    if (chunk.kind == ChunkKind::kSchedule)
      for (const auto& schedule : decodeRows<ScheduleRecord>(chunk))
        planned = std::max(planned, schedule.train_step);
    if (chunk.kind != ChunkKind::kEvents) continue;
    for (const Event& event : decodeRows<Event>(chunk)) {
      ++events;
      ASSERT_LE(event.place.train_step, planned);
    }
  }
  EXPECT_EQ(events, std::size_t{kPlanned});
}

TEST(RecorderTest, EventsOfAllRanksArriveInTheirOrder) {
  auto kept = std::make_shared<MemorySink::Kept>();
  constexpr int kWriters = 4, kEvents = 5000;
  {
    auto recorder = recorderInto(kept, kWriters);
    std::vector<std::thread> ranks;
    for (int r = 0; r < kWriters; ++r)
      ranks.emplace_back([&, r] {
        for (int i = 0; i < kEvents; ++i) {
          Event e;
          e.rank = WorldRank::of(r);
          e.begin_ns = e.end_ns = i;
          recorder->event(e);
          if (i % 1000 == 0) recorder->tensor(test::tensorNamed("t", {1}, e.rank), Bytes(4));
        }
      });
    for (auto& rank : ranks) rank.join();
  }
  std::vector<std::int64_t> last(kWriters, -1);
  for (const Chunk& chunk : kept->chunks) {
    EXPECT_EQ(chunk.checksum, computeChecksum(chunk));
    if (chunk.kind != ChunkKind::kEvents) continue;
    for (const Event& e : decodeRows<Event>(chunk)) {
      EXPECT_EQ(e.begin_ns, last[e.rank.index()] + 1);
      last[e.rank.index()] = e.begin_ns;
    }
  }
  EXPECT_EQ(last, std::vector<std::int64_t>(kWriters, kEvents - 1));
  EXPECT_TRUE(kept->closed);
  EXPECT_EQ(kept->chunks.back().kind, ChunkKind::kEnd);
}

TEST(RecorderTest, EventsThatFindNoRoomAreCountedAndNothingElseIsLost) {
  auto kept = std::make_shared<MemorySink::Kept>();
  RecorderOptions options;
  options.events_per_rank = 8;
  options.commit_interval = std::chrono::seconds(60);
  auto recorder = recorderInto(kept, 1, options);
  for (int i = 0; i < 20; ++i) recorder->event({});
  recorder->close();
  EXPECT_EQ(recorder->stats().dropped_events, 12u);
  EXPECT_EQ(eventsIn(*kept), 8u);
  EXPECT_EQ(decodeOne<EndRecord>(kept->chunks.back()).dropped_events, 12u);
}

TEST(RecorderTest, ValuesBeyondTheQueueAreCountedAndTheirRecordStays) {
  auto kept = std::make_shared<MemorySink::Kept>();
  RecorderOptions options;
  options.queue_bytes = 100;
  options.commit_interval = std::chrono::seconds(60);
  auto recorder = recorderInto(kept, 1, options);
  for (int i = 0; i < 3; ++i) recorder->tensor(test::tensorNamed("t", {20}), Bytes(80));
  recorder->close();
  EXPECT_EQ(recorder->stats().dropped_tensors, 2u);
  int with_values = 0, records = 0;
  for (const Chunk& chunk : kept->chunks)
    if (chunk.kind == ChunkKind::kTensors)
      for (const auto& t : decodeRows<TensorRecord>(chunk)) ++records, with_values += t.has_values;
  EXPECT_EQ(records, 3);
  EXPECT_EQ(with_values, 1);
}

TEST(RecorderTest, FlushReturnsTheWatermarkOfAllThatCameBefore) {
  auto kept = std::make_shared<MemorySink::Kept>();
  RecorderOptions options;
  options.commit_interval = std::chrono::seconds(60);
  auto recorder = recorderInto(kept, 1, options);
  recorder->event({});
  recorder->note("a", "{}");
  const Watermark mark = recorder->flush();
  EXPECT_EQ(mark.chunk_watermark, 2u);
  EXPECT_EQ(kept->chunks.size(), 2u);
  EXPECT_GE(kept->flushes, 1);
  EXPECT_GT(mark.run_clock_ns, 0);
}

TEST(RecorderTest, ASinkThatFailsIsDroppedAndTheRunGoesOn) {
  auto kept = std::make_shared<MemorySink::Kept>();
  auto recorder = recorderInto(kept, 1, {}, 1);
  for (int i = 0; i < 3; ++i) {
    recorder->event({});
    recorder->flush();
  }
  recorder->close();
  EXPECT_EQ(recorder->stats().failed_sinks, std::vector<std::string>{"disk full"});
  EXPECT_FALSE(kept->closed);
}

/// A sink that throws std::bad_alloc, as under ulimit -v.
class SinkWithoutMemory : public ChunkSink {
 public:
  void write(const Chunk&) override { throw std::bad_alloc(); }
  void flush() override {}
  void close() override {}
};

TEST(RecorderTest, MemoryThatIsRefusedCutsTheRecordingAndEndsNothing) {
  std::vector<std::unique_ptr<ChunkSink>> sinks;
  sinks.push_back(std::make_unique<SinkWithoutMemory>());
  Recorder recorder(1, std::move(sinks));
  recorder.note("a", "b");
  recorder.flush();
  recorder.note("c", "d");
  recorder.close();
  EXPECT_EQ(recorder.stats().failed_sinks,
            std::vector<std::string>{"there is not enough memory for this"});
}

}  // namespace
}  // namespace ringscope::traces
