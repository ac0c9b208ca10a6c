// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/join/chunk_joiner.h"
#include "traces/join/join_files.h"
#include "traces/query/trace.h"
#include "traces/recording/recorder.h"
#include "traces/storage/sqlite_sink.h"

namespace ringscope::traces {
namespace {

constexpr int kRanks = 3;
constexpr const char* kRun = R"({"command": "train", "cp": 3})";

std::string clockNote(const std::string& boot, std::int64_t steady_ns, std::int64_t unix_ns) {
  return R"({"boot_id": ")" + boot + R"(", "steady_ns": )" + std::to_string(steady_ns) +
         R"(, "unix_ns": )" + std::to_string(unix_ns) + "}";
}

/// One rank's file: an event at run clock 100, a tensor that holds the rank, the run's notes.
std::string recordRank(const test::TempDir& dir, int rank, const std::string& clock,
                       const std::string& run = kRun) {
  const std::string path = dir.file("r" + std::to_string(rank) + ".rscope");
  std::vector<std::unique_ptr<ChunkSink>> sinks;
  sinks.push_back(std::make_unique<SqliteSink>(path));
  Recorder recorder(kRanks, std::move(sinks));
  recorder.note("run", run);
  recorder.note("own." + std::to_string(rank), "1");
  if (!clock.empty()) recorder.note(kClockNote, clock);
  Event event;
  event.place = {0, 0, Direction::kForward, 0};
  event.rank = static_cast<std::int16_t>(rank);
  event.begin_ns = 100;
  event.end_ns = 200;
  recorder.event(event);
  const auto value = static_cast<float>(rank);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  TensorRecord record;
  record.name = "q";
  record.rank = static_cast<std::int16_t>(rank);
  record.shape = {1};
  recorder.tensor(record, Bytes(bytes, bytes + sizeof value));
  return path;
}

std::vector<std::string> recordAll(const test::TempDir& dir) {
  std::vector<std::string> paths;
  for (int rank = 0; rank < kRanks; ++rank)
    paths.push_back(recordRank(dir, rank, clockNote("one", 5000 + 1000 * rank, 1)));
  return paths;
}

TEST(JoinTest, FilesOfOneMachineBecomeOneTraceOnItsSteadyClock) {
  test::TempDir dir;
  EXPECT_EQ(joinFiles(recordAll(dir), dir.file("all.rscope")), ClockAlignment::kSteadyClock);
  const auto trace = openTrace(dir.file("all.rscope"));
  EXPECT_TRUE(trace->problems().empty());
  ASSERT_TRUE(trace->end().has_value());
  EXPECT_EQ(trace->end()->events, 3u);
  EXPECT_EQ(trace->worldSize(), kRanks);
  ASSERT_EQ(trace->tensors().size(), 3u);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(trace->events(rank).size(), 1u);
    EXPECT_EQ(trace->events(rank).front().begin_ns, 100 + 1000 * rank);
    EXPECT_FALSE(trace->note("own." + std::to_string(rank)).is_null());
  }
}

TEST(JoinTest, EveryTensorKeepsItsOwnValues) {
  test::TempDir dir;
  joinFiles(recordAll(dir), dir.file("all.rscope"));
  const auto trace = openTrace(dir.file("all.rscope"));
  for (const TensorRecord& record : trace->tensors()) {
    const auto values = trace->values(record);
    ASSERT_TRUE(values.has_value());
    EXPECT_EQ(values->front(), record.rank);
  }
}

TEST(JoinTest, FilesOfSeveralMachinesAreAlignedByWallClock) {
  test::TempDir dir;
  const auto a = recordRank(dir, 0, clockNote("one", 5000, 7000));
  const auto b = recordRank(dir, 1, clockNote("two", 99, 7400));
  EXPECT_EQ(joinFiles({a, b}, dir.file("all.rscope")), ClockAlignment::kWallClock);
  const auto trace = openTrace(dir.file("all.rscope"));
  EXPECT_EQ(trace->events(0).front().begin_ns, 100);
  EXPECT_EQ(trace->events(1).front().begin_ns, 500);
}

TEST(JoinTest, WhatDoesNotBelongTogetherIsRefused) {
  test::TempDir dir;
  const std::string out = dir.file("all.rscope"), clock = clockNote("one", 1, 1);
  const auto a = recordRank(dir, 0, clock), silent = recordRank(dir, 1, ""),
             other = recordRank(dir, 2, clock, R"({"command": "attend"})");
  EXPECT_ERROR(joinFiles({a, a}, out), ErrorCode::kInput, "rank 0 is in two files");
  EXPECT_ERROR(joinFiles({a, other}, out), ErrorCode::kInput, "not of one run");
  EXPECT_ERROR(joinFiles({a, silent}, out), ErrorCode::kInput, "does not say when it began");
  EXPECT_ERROR(joinFiles({a, dir.file("none")}, out), ErrorCode::kInput, "no such file");
  EXPECT_ERROR(joinFiles({a}, a), ErrorCode::kInput, "name another");
  EXPECT_TRUE(openTrace(a)->problems().empty()) << "untouched";
}

TEST(JoinTest, ATimeBeyondTheClockIsRefused) {
  Event event;
  event.begin_ns = event.end_ns = std::numeric_limits<std::int64_t>::max() - 5;
  Chunk chunk;
  chunk.rows = 1;
  chunk.body = encodeEvents(std::span(&event, 1));
  ChunkJoiner joiner(1, [](const Chunk&) {});
  EXPECT_ERROR(joiner.add(0, chunk, 100), ErrorCode::kInput, "beyond what a clock can show");
}

}  // namespace
}  // namespace ringscope::traces
