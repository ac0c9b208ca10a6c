// SPDX-License-Identifier: Apache-2.0
// Files that are foreign, damaged, truncated or did not fit on the disk.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "tests/support/campaign.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/storage_files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/storage/sqlite_source.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::execute;
using test::record;
using test::stageEvent;

TEST(StorageTest, ForeignAndMissingFilesAreRefusedByName) {
  test::TempDir dir;
  EXPECT_ERROR(openTrace(dir.file("none.rscope")), ErrorCode::kInput, "no such file");
  std::ofstream(dir.file("text.rscope")) << "hello";
  EXPECT_ERROR(openTrace(dir.file("text.rscope")), ErrorCode::kInput, "not a RingScope trace");
  execute(dir.file("other.db"), "CREATE TABLE t(x)");
  EXPECT_ERROR(openTrace(dir.file("other.db")), ErrorCode::kInput, "not a RingScope trace");
}

TEST(StorageTest, ANewerFormatIsRefusedByItsNumber) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  record(path, 1).reset();
  execute(path, "PRAGMA user_version=9");
  EXPECT_ERROR(openTrace(path), ErrorCode::kInput, "format 9");
}

TEST(StorageTest, TablesThatDoNotBelongAreRefused) {
  test::TempDir dir;
  for (const char* sql : {"CREATE TABLE extra(x)", "CREATE VIEW v AS SELECT * FROM chunk",
                          "CREATE TRIGGER t AFTER INSERT ON chunk BEGIN DELETE FROM chunk; END"}) {
    const std::string path = dir.file("a.rscope");
    record(path, 1).reset();
    execute(path, sql);
    EXPECT_ERROR(openTrace(path), ErrorCode::kInput, "does not have");
  }
}

TEST(StorageTest, ADamagedChunkIsNamedAndTheRestIsRead) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  record(path, 10).reset();
  execute(path, "UPDATE chunk SET rows=rows+1 WHERE kind=0");
  const auto trace = openTrace(path);
  EXPECT_EQ(trace->eventCount(), 0u);
  EXPECT_EQ(trace->run()->cp, 1);
  ASSERT_FALSE(trace->problems().empty());
  EXPECT_NE(trace->problems().front().find("checksum"), std::string::npos);
}

/// Records a trace with a chunk of every kind, some of them in several chunks.
void recordEveryKind(const std::string& path) {
  const auto recorder = record(path, 300);
  const WorldRank rank = WorldRank::of(0);
  recorder->record(GroupRecord{GroupId::of(0), GroupAxis::kCp, {rank}});
  recorder->record(IntentRecord{});
  ScheduleRecord schedule;
  schedule.rank = rank;
  recorder->record(schedule);
  ShardRecord shard;
  shard.buffer = "input_ids";
  recorder->record(shard);
  DiffRecord diff;
  diff.tensor = "q";
  recorder->record(diff);
  recorder->record(MemorySample{});
  recorder->note("step.0", "{}");
  recorder->flush();
}

/// Returns everything that a reader gets of a file, as bytes. Sets `complains` when the reader
/// reports that something is missing.
std::string everythingRead(const std::string& path, bool& complains) {
  std::string all;
  const auto trace = openTrace(path);
  trace->readEvents();
  for (const TensorRecord& tensor : trace->tensors())
    if (const auto bytes = trace->bytes(tensor)) all.append(bytes->begin(), bytes->end());
  complains = !trace->problems().empty();
  SqliteSource(path).readAll(
      [&](const Chunk& chunk) {
        if (chunk.kind == ChunkKind::kSummaries) return;  // summaries only save time
        for (const std::uint64_t part :
             {static_cast<std::uint64_t>(chunk.kind), chunk.seq, chunk.key,
              static_cast<std::uint64_t>(chunk.rank.value()), std::uint64_t{chunk.rows}})
          all += std::to_string(part) + " ";
        all.append(chunk.body.begin(), chunk.body.end());
      },
      [&](const std::string&) { complains = true; });
  return all;
}

/// Reports whether a damaged copy is neither rejected nor reported, and yet reads differently.
bool silentlyDifferent(const std::string& path, const std::string& undamaged) {
  try {
    bool complains = false;
    const std::string read = everythingRead(path, complains);
    return read != undamaged && !complains;
  } catch (const Error&) {
    return false;
  }
}

TEST(StorageTest, ReportsAChunkMissingThatIsReadAsValues) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope"), copy = dir.file("copy.rscope");
  recordEveryKind(path);
  std::set<ChunkKind> kinds;
  SqliteSource(path).readAll([&](const Chunk& chunk) { kinds.insert(chunk.kind); },
                             [](const std::string&) {});
  kinds.erase(ChunkKind::kValues);
  kinds.erase(ChunkKind::kSummaries);
  EXPECT_GE(kinds.size(), 10u);
  bool complains = false;
  const std::string undamaged = everythingRead(path, complains);
  ASSERT_FALSE(complains);
  for (const ChunkKind kind : kinds) {
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    execute(copy, "UPDATE chunk SET kind=2 WHERE kind=" + std::to_string(static_cast<int>(kind)));
    EXPECT_FALSE(silentlyDifferent(copy, undamaged)) << name(kind);
    EXPECT_NE(openTrace(copy)->problems(), std::vector<std::string>()) << name(kind);
  }
  execute(path, "UPDATE chunk SET key=key+1 WHERE kind=2");
  EXPECT_EQ(openTrace(path)->problems().at(0), "the values of one tensor are missing");
}

/// Simulates a page in which one bit of a row's number has changed. Two rows then have the same
/// number, and a search finds one of them.
TEST(StorageTest, ReportsAChunkHiddenByAnotherOfTheSameNumber) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  recordEveryKind(path);
  bool complains = false;
  const std::string undamaged = everythingRead(path, complains);
  std::string bytes = test::readContent(path);
  int doubled = 0;
  for (std::size_t at = 4096; at + 1 < bytes.size(); ++at) {
    if (bytes[at] != 5 && bytes[at] != 9)
      continue;               // numbers that a flip of the last bits turns
                              // into those of
    std::string bad = bytes;  // their neighbours, wherever they occur
    bad[at] = static_cast<char>(bad[at] ^ (bytes[at] == 5 ? 3 : 1));
    std::ofstream(dir.file("bad"), std::ios::binary) << bad;
    EXPECT_FALSE(silentlyDifferent(dir.file("bad"), undamaged)) << at;
    ++doubled;
  }
  EXPECT_GT(doubled, 2);
}

/// Returns the offset of a byte of SQLite's tree structure: the header of a page of a b-tree, the
/// list of its cells, or the beginning of one of these.
std::size_t byteOfTree(const std::string& file, std::mt19937& random) {
  constexpr std::size_t kPage = 4096;
  for (;;) {
    const std::size_t page = random() % (file.size() / kPage), begin = page * kPage,
                      header = begin + (page == 0 ? 100 : 0);
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(file[at]); };
    const int type = byte(header);
    // a page of a long body
    if (type != 2 && type != 5 && type != 10 && type != 13) continue;
    const std::size_t cells = byte(header + 3) * 256u + byte(header + 4);
    const std::size_t size = (type < 8 ? 12 : 8) + 2 * cells;
    if (cells == 0 || random() % 2) return header + random() % size;
    const std::size_t at = header + size - 2 * (1 + random() % cells);
    return begin + (byte(at) * 256u + byte(at + 1) + random() % 12) % kPage;
  }
}

TEST(StorageTest, RandomBitFlipsNeverGiveWrongNumbersOrCrash) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope"), bad_path = dir.file("bad.rscope");
  recordEveryKind(path);
  bool complains = false;
  const std::string undamaged = everythingRead(path, complains), bytes = test::readContent(path);
  ASSERT_FALSE(complains);
  for (test::Campaign campaign(300, 3); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    std::mt19937& random = campaign.random();
    std::string bad = bytes;
    const std::size_t at = random() % 2 ? byteOfTree(bytes, random) : random() % bad.size();
    bad[at] ^= static_cast<char>(1u << random() % 8);
    if (random() % 10 == 0) bad.resize(random() % bad.size());
    std::ofstream(bad_path, std::ios::binary) << bad;
    EXPECT_FALSE(silentlyDifferent(bad_path, undamaged)) << "byte " << at;
  }
}

/// Records a trace of 60 tensors of 4 KiB, each committed separately.
void recordTensors(const std::string& path) {
  std::vector<std::unique_ptr<ChunkSink>> sinks;
  sinks.push_back(std::make_unique<SqliteSink>(path));
  Recorder recorder(1, std::move(sinks));
  recorder.note("run", R"({"cp": 1})");
  for (std::int16_t i = 0; i < 60; ++i) {
    TensorRecord record = test::tensorNamed("q", {1024});
    record.place.layer = Layer::of(i);
    recorder.tensor(std::move(record), Bytes(4096, 0x40));
    recorder.event(stageEvent(i));
    recorder.flush();
  }
}

TEST(StorageFaultTest, ShowsTheIntactPartOfATruncatedCopy) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope"), copy = dir.file("copy.rscope");
  recordTensors(path);
  const auto size = std::filesystem::file_size(path);
  std::size_t seen = 0;
  for (const std::uintmax_t percent : {20, 50, 80}) {
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(copy, size * percent / 100);
    const auto trace = openTrace(copy);
    ASSERT_FALSE(trace->problems().empty());
    EXPECT_NE((trace->problems()[0] + trace->problems()[1]).find("cut short"), std::string::npos);
    EXPECT_EQ(trace->note("run")["cp"], 1);
    EXPECT_GT(trace->tensors().size(), seen) << "more of the file, more of the trace";
    seen = trace->tensors().size();
    EXPECT_EQ(trace->values(trace->tensors().front())->size(), 1024u);
  }
}

TEST(StorageFaultTest, AFullDiskLosesOnlyWhatDidNotFit) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{std::size_t{2} << 20, std::size_t{2} << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      SqliteSink sink(path);
      for (std::uint64_t seq = 1;; ++seq) {
        Chunk chunk;
        chunk.seq = seq;
        chunk.kind = ChunkKind::kValues;
        chunk.key = seq;
        chunk.rows = 1;
        chunk.body = Bytes(64 << 10, 7);
        chunk.checksum = computeChecksum(chunk);
        sink.write(chunk);
      }
    } catch (const Error&) {
      ::_exit(0);
    }
  }
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
  SqliteSource source(path);
  const auto counts = source.readAll([](const Chunk&) {}, [](const std::string&) {});
  EXPECT_GT(counts[static_cast<std::size_t>(ChunkKind::kValues)], 15u) << "a mebibyte at least";
  EXPECT_TRUE(source.values(TensorId::of(1)).has_value());
}

}  // namespace
}  // namespace ringscope::traces
