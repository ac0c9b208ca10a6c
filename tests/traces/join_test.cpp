// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/place_at.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/join/chunk_joiner.h"
#include "traces/format/join/join_files.h"
#include "traces/format/recording/recorder.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

constexpr int kJoined = 3;

RunSpec runOf(Command command, std::int32_t cores) {
  RunSpec run;
  run.command = command;
  run.cp = kJoined;
  run.cores = cores;
  return run;
}

std::string clockNote(const std::string& boot, std::int64_t steady_ns, std::int64_t unix_ns) {
  return R"({"boot_id": ")" + boot + R"(", "steady_ns": )" + std::to_string(steady_ns) +
         R"(, "unix_ns": )" + std::to_string(unix_ns) + "}";
}

/// Writes one rank's file: an event at run clock 100, a tensor that holds the rank, the run's
/// notes.
std::string recordRank(const test::TempDir& dir, int rank, const std::string& clock,
                       Command command = Command::kTrain) {
  const std::string path = dir.file("r" + std::to_string(rank) + ".rscope");
  std::vector<std::unique_ptr<ChunkSink>> sinks;
  sinks.push_back(std::make_unique<SqliteSink>(path));
  Recorder recorder(kJoined, std::move(sinks));
  recorder.record(runOf(command, 2 + rank));  // on machines of different sizes
  recorder.note("own." + std::to_string(rank), "1");
  if (!clock.empty()) recorder.note(kClockNote, clock);
  Event event;
  event.place = test::placeAt(0, 0, Direction::kForward, 0);
  event.rank = WorldRank::of(rank);
  event.begin_ns = 100;
  event.end_ns = 200;
  recorder.event(event);
  const auto value = static_cast<float>(rank);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  TensorRecord record;
  record.tensor = TensorName::of("q");
  record.rank = WorldRank::of(rank);
  record.shape = {1};
  recorder.tensor(record, Bytes(bytes, bytes + sizeof value));
  return path;
}

std::vector<std::string> recordAll(const test::TempDir& dir) {
  std::vector<std::string> paths;
  for (int rank = 0; rank < kJoined; ++rank)
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
  EXPECT_EQ(trace->worldSize(), kJoined);
  ASSERT_EQ(trace->tensors().size(), 3u);
  for (int rank = 0; rank < kJoined; ++rank) {
    ASSERT_EQ(trace->events(WorldRank::of(rank)).size(), 1u);
    EXPECT_EQ(trace->events(WorldRank::of(rank)).front().begin_ns, 100 + 1000 * rank);
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
    EXPECT_EQ(values->front(), record.rank.value());
  }
}

TEST(JoinTest, NotesMayShareAChunk) {
  const std::array<Note, 3> notes = {{{"a", "1"}, {"b", "2"}, {"a", "1"}}};
  std::vector<std::string> joined;
  ChunkJoiner joiner(1, [&](const Chunk& chunk) {
    if (chunk.kind == ChunkKind::kNotes) joined.push_back(decodeOne<Note>(chunk).key);
  });
  joiner.add(0, makeChunk(std::span<const Note>(notes)));
  EXPECT_EQ(joined, (std::vector<std::string>{"a", "b"}));
}

TEST(JoinTest, FilesOfSeveralMachinesAreAlignedByWallClock) {
  test::TempDir dir;
  const auto a = recordRank(dir, 0, clockNote("one", 5000, 7000));
  const auto b = recordRank(dir, 1, clockNote("two", 99, 7400));
  EXPECT_EQ(joinFiles({a, b}, dir.file("all.rscope")), ClockAlignment::kWallClock);
  const auto trace = openTrace(dir.file("all.rscope"));
  EXPECT_EQ(trace->events(WorldRank::of(0)).front().begin_ns, 100);
  EXPECT_EQ(trace->events(WorldRank::of(1)).front().begin_ns, 500);
}

TEST(JoinTest, RejectsFilesThatDoNotBelongTogether) {
  test::TempDir dir;
  const std::string out = dir.file("all.rscope"), clock = clockNote("one", 1, 1);
  const auto a = recordRank(dir, 0, clock), silent = recordRank(dir, 1, ""),
             other = recordRank(dir, 2, clock, Command::kAttend);
  EXPECT_ERROR(joinFiles({a, a}, out), ErrorCode::kInput, "rank 0 is in two files");
  EXPECT_ERROR(joinFiles({a, other}, out), ErrorCode::kInput, "not of one run");
  EXPECT_ERROR(joinFiles({a, silent}, out), ErrorCode::kInput, "does not say when it began");
  EXPECT_ERROR(joinFiles({a, dir.file("none")}, out), ErrorCode::kInput, "no such file");
}

TEST(JoinTest, AnInputIsNeverTheOutputHoweverItIsNamed) {
  test::TempDir dir;
  const std::string a = recordRank(dir, 0, clockNote("one", 1, 1));
  const std::filesystem::path file = a;
  const std::string link = dir.file("link"), twin = dir.file("twin");
  std::filesystem::create_symlink(file, link);
  std::filesystem::create_hard_link(file, twin);
  for (const std::string& output :
       {a, (file.parent_path() / "." / file.filename()).string(),
        (file.parent_path() / ".." / file.parent_path().filename() / file.filename()).string(),
        link, twin})
    EXPECT_ERROR(joinFiles({a}, output), ErrorCode::kInput, "is the same file");
  EXPECT_TRUE(openTrace(a)->problems().empty()) << "untouched";
}

TEST(JoinTest, AFileThatCannotBeJoinedLeavesTheOlderOutputWhole) {
  test::TempDir dir;
  const std::string older = recordRank(dir, 0, clockNote("one", 1, 1));
  const std::string silent = recordRank(dir, 1, "");
  EXPECT_ERROR(joinFiles({silent}, older), ErrorCode::kInput, "does not say when it began");
  EXPECT_TRUE(openTrace(older)->problems().empty());
  const std::string other = recordRank(dir, 2, clockNote("one", 1, 1));
  joinFiles({other}, older);
  EXPECT_EQ(openTrace(older)->worldSize(), 3);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.file("")), {}), 3)
      << "nothing is left beside them";
}

TEST(JoinTest, ATimeBeyondTheClockIsRefused) {
  Event event;
  event.begin_ns = event.end_ns = std::numeric_limits<std::int64_t>::max() - 5;
  Chunk chunk;
  chunk.rows = 1;
  chunk.body = encodeRows<Event>(std::span(&event, 1));
  ChunkJoiner joiner(1, [](const Chunk&) {});
  EXPECT_ERROR(joiner.add(0, chunk, 100), ErrorCode::kInput, "beyond what a clock can show");
}

}  // namespace
}  // namespace ringscope::traces
