// SPDX-License-Identifier: Apache-2.0
// Recordings in files: random access, and recognition by content.
#include "traces/format/storage/sqlite_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/chunks_of_steps.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/join/join_files.h"
#include "traces/format/storage/sqlite.h"
#include "traces/format/storage/sqlite_sink.h"

namespace ringscope::traces {
namespace {

using test::eventsFor;
using test::kRanks;
using test::kStepNs;
using test::kSteps;
using test::placeFor;
using test::twoHundredChunks;

/// Writes the chunks of a source of 200 into a file.
void writeFile(const std::string& path) {
  SqliteSink sink(path);
  std::uint64_t seq = 0;
  for (int rank = 0; rank < kRanks; ++rank)
    for (int step = 0; step < kSteps; ++step) {
      const auto events = eventsFor(rank, step);
      Chunk chunk = makeChunk(std::span<const Event>(events));
      chunk.rank = WorldRank::of(rank);
      chunk.seq = ++seq;
      chunk.checksum = computeChecksum(chunk);
      sink.write(chunk);
    }
  sink.close();
}

TEST(SqliteSourceTest, AClosedFileHasASummaryForEachChunkOfEvents) {
  test::TempDir dir;
  writeFile(dir.file("a.rscope"));
  std::size_t chunks = 0;
  SqliteSource source(dir.file("a.rscope"));
  source.list(
      [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
        if (info.kind != ChunkKind::kEvents) return;
        ++chunks;
        ASSERT_TRUE(info.summary);
        EventSummary real = summarizeEvents(decodeRows<Event>(read()));
        real.checksum = info.checksum;
        EXPECT_EQ(*info.summary, real);
      },
      [](const std::string& problem) { ADD_FAILURE() << problem; });
  EXPECT_EQ(chunks, std::size_t{kRanks}) << "small chunks are merged";
}

TEST(SqliteSourceTest, AFileIsReadByPlaceRankAndTimeAsASourceInMemoryIs) {
  test::TempDir dir;
  writeFile(dir.file("a.rscope"));
  const auto file = openTrace(dir.file("a.rscope")), memory = readTrace(twoHundredChunks());
  EXPECT_EQ(file->moments(), memory->moments());
  EXPECT_EQ(file->eventCount(), memory->eventCount());
  EXPECT_EQ(file->endNs(), memory->endNs());
  const auto at = file->eventsAt(placeFor(42, 1), WorldRank::of(1));
  ASSERT_EQ(at.size(), 2u);
  EXPECT_EQ(at[1].begin_ns, memory->eventsAt(placeFor(42, 1), WorldRank::of(1))[1].begin_ns);
  EXPECT_EQ(file->eventsBetween(WorldRank::of(0), 0, kStepNs).size(),
            memory->eventsBetween(WorldRank::of(0), 0, kStepNs).size());
}

TEST(OpenTraceTest, RejectsAFileThatIsNoRecordingWithTheFormats) {
  test::TempDir dir;
  EXPECT_ERROR(openTrace(dir.file("")), ErrorCode::kInput,
               "is a folder, not a trace; what can be opened: RingScope traces (.rscope)");
  std::ofstream(dir.file("text.rscope")) << "hello";
  EXPECT_ERROR(openTrace(dir.file("text.rscope")), ErrorCode::kInput,
               "is not a RingScope trace; what can be opened: RingScope traces (.rscope)");
}

TEST(OpenTraceTest, AnEmptyFileIsCalledEmpty) {
  test::TempDir dir;
  std::ofstream(dir.file("a.rscope")).close();
  EXPECT_ERROR(openTrace(dir.file("a.rscope")), ErrorCode::kInput,
               "is empty: nothing was written to it before its recording ended");
}

TEST(OpenTraceTest, RecognisesAFormatByItsContentAndNotItsName) {
  test::TempDir dir;
  writeFile(dir.file("a.txt"));
  EXPECT_EQ(openTrace(dir.file("a.txt"))->worldSize(), kRanks);
}

TEST(OpenTraceTest, ATraceWithOtherColumnsIsRefusedWithWhatToDo) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  writeFile(path);
  {
    Database db(path, Database::Mode::kCreate);
    db.execute("ALTER TABLE chunk ADD COLUMN colour INTEGER");
  }
  EXPECT_ERROR(openTrace(path), ErrorCode::kInput, "its table 'chunk' has other columns");
}

// tests/reference/formats/format3.rscope is a step of `ringscope train` with --mask documents,
// which a RingScope of format 3 recorded. Format 2 had the same fields.
TEST(SqliteSourceTest, OpensRecordingsOfOlderFormats) {
  test::TempDir dir;
  for (const int version : {3, 2}) {
    SCOPED_TRACE(version);
    const std::string path = dir.file("old.rscope");
    std::filesystem::copy_file(test::reference("formats/format3.rscope"), path,
                               std::filesystem::copy_options::overwrite_existing);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(63);  // SQLite's header has user_version in bytes 60 to 63, big-endian
    file.put(static_cast<char>(version));
    file.close();
    const auto trace = openTrace(path);
    EXPECT_TRUE(trace->problems().empty()) << trace->problems().front();
    EXPECT_EQ(trace->eventCount(), 130u);
    EXPECT_EQ(trace->shards().size(), 6u);
    EXPECT_EQ(trace->shards().front().global_from_local.size(), 2u);
    ASSERT_TRUE(trace->intent(0, WorldRank::of(1)));
    EXPECT_EQ(trace->intent(0, WorldRank::of(1))->mask, MaskKind::kDocuments);
    EXPECT_FALSE(trace->intent(0, WorldRank::of(1))->documents.empty());
    ASSERT_TRUE(trace->schedule(0, WorldRank::of(1), Direction::kBackward));
    EXPECT_EQ(trace->schedule(0, WorldRank::of(1), Direction::kBackward)->stages.size(), 2u);
    ASSERT_TRUE(trace->groupContaining(WorldRank::of(1), GroupAxis::kCp));
    EXPECT_EQ(trace->groupContaining(WorldRank::of(1), GroupAxis::kCp)->members.size(), 2u);
  }
}

TEST(SqliteSourceTest, JoiningWritesAnOlderRecordingInTheNewestFormat) {
  test::TempDir dir;
  joinFiles({test::reference("formats/format3.rscope")}, dir.file("new.rscope"));
  EXPECT_EQ(Database(dir.file("new.rscope"), Database::Mode::kReadOnly).pragma("user_version"),
            kFormatVersion);
  const auto old = openTrace(test::reference("formats/format3.rscope")),
             now = openTrace(dir.file("new.rscope"));
  EXPECT_TRUE(now->problems().empty()) << now->problems().front();
  EXPECT_EQ(now->schedules(), old->schedules());
  EXPECT_EQ(now->intents(), old->intents());
  EXPECT_EQ(now->groups(), old->groups());
}

}  // namespace
}  // namespace ringscope::traces
