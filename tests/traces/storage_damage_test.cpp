// SPDX-License-Identifier: Apache-2.0
// Files that are foreign, damaged, cut short or did not fit on the disk.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/storage_files.h"
#include "traces/query/trace.h"
#include "traces/storage/sqlite_source.h"

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

TEST(StorageTest, AChunkThatIsTakenForValuesIsMissed) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope"), copy = dir.file("copy.rscope");
  record(path, 300).reset();
  int chunks = 0;
  SqliteSource(path).readAll(
      [&](const Chunk& chunk) {
        chunks += chunk.kind != ChunkKind::kEnd && chunk.kind != ChunkKind::kSummaries;
      },
      [](const std::string&) {});
  ASSERT_EQ(chunks, 3) << "the run, events and tensors";
  for (int i = 0; i < chunks; ++i) {
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    execute(copy,
            "UPDATE chunk SET kind=2 WHERE seq=(SELECT seq FROM chunk WHERE kind NOT IN "
            "(2, " +
                std::to_string(static_cast<int>(ChunkKind::kEnd)) + ", " +
                std::to_string(static_cast<int>(ChunkKind::kSummaries)) +
                ") ORDER BY seq LIMIT 1 OFFSET " + std::to_string(i) + ")");
    const auto trace = openTrace(copy);
    ASSERT_FALSE(trace->problems().empty()) << i;
    EXPECT_NE(trace->problems().front().find("are missing"), std::string::npos);
  }
  execute(path, "UPDATE chunk SET key=key+1 WHERE kind=2");
  EXPECT_EQ(openTrace(path)->problems().at(0), "the values of one tensor are missing");
}

TEST(StorageTest, RandomBitFlipsNeverGiveWrongNumbersOrCrash) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  record(path, 300).reset();
  const auto good = openTrace(path);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string bad = bytes;
    bad[random() % bad.size()] ^= static_cast<char>(1u << random() % 8);
    if (round % 10 == 0) bad.resize(random() % bad.size());
    std::ofstream(dir.file("bad.rscope"), std::ios::binary) << bad;
    try {
      const auto trace = openTrace(dir.file("bad.rscope"));
      for (const auto& tensor : trace->tensors()) trace->values(tensor);
      trace->readEvents();
      EXPECT_TRUE(trace->eventCount() == good->eventCount() || !trace->problems().empty());
    } catch (const Error&) {
    }
  }
}

/// A trace of 60 tensors of 4 KiB, each committed by itself.
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

TEST(StorageFaultTest, OfATruncatedCopyWhatIsThereIsShown) {
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
