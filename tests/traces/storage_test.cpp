// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/query/trace.h"
#include "traces/recording/recorder.h"
#include "traces/storage/sealed.h"
#include "traces/storage/sqlite_sink.h"
#include "traces/storage/sqlite_source.h"

namespace ringscope::traces {
namespace {

void execute(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
}

Event stageEvent(int i) {
  Event e;
  e.place = {i / 4, 0, Direction::kForward, static_cast<std::int16_t>(i % 4)};
  e.begin_ns = i;
  e.end_ns = i + 1;
  return e;
}

/// A recorder into a file, with some of everything.
std::unique_ptr<Recorder> record(const std::string& path, int events) {
  std::vector<std::unique_ptr<ChunkSink>> sinks;
  auto file = std::make_unique<SqliteSink>(path);
  file->seal(R"({"mistakes": ["naive_sum_merge"]})");
  sinks.push_back(std::move(file));
  auto recorder = std::make_unique<Recorder>(1, std::move(sinks));
  recorder->note("run", R"({"cp": 1})");
  for (int i = 0; i < events; ++i) {
    recorder->event(stageEvent(i));
    if (i % 100 == 0) recorder->flush();
  }
  const float values[] = {1, 2, 3};
  recorder->tensor({0, "q", {}, 0, DType::kFloat32, {3}, 0, {}, false},
                   Bytes(reinterpret_cast<const std::uint8_t*>(values),
                         reinterpret_cast<const std::uint8_t*>(values + 3)));
  return recorder;
}

TEST(StorageTest, WhatWasRecordedIsReadAndOneFileIsLeft) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  record(path, 1000).reset();
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  const auto trace = openTrace(path);
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_EQ(trace->eventCount(), 1000u);
  EXPECT_EQ(trace->moments().size(), 1000u);
  EXPECT_EQ(trace->note("run")["cp"], 1);
  EXPECT_EQ(trace->values(trace->tensors().front()), (std::vector<double>{1, 2, 3}));
  Database db(path, Database::Mode::kReadOnly);
  Statement count(db.handle(), "SELECT count(*) FROM chunk WHERE kind=0");
  EXPECT_TRUE(count.step());
  EXPECT_EQ(count.integer(0), 1) << "small chunks are merged at close";
}

TEST(StorageTest, AFileThatIsNoTraceIsNeverReplaced) {
  test::TempDir dir;
  const std::string path = dir.file("precious.txt");
  std::ofstream(path) << "not a trace, but mine";
  EXPECT_ERROR(SqliteSink sink(path), ErrorCode::kInput, "is not a trace");
  EXPECT_EQ(std::filesystem::file_size(path), 21u);
}

TEST(StorageTest, AnUnwritablePathIsOneClearSentence) {
  EXPECT_ERROR(SqliteSink sink("/nonexistent/folder/a.rscope"), ErrorCode::kInput,
               "cannot be written");
}

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
  EXPECT_EQ(trace->note("run")["cp"], 1);
  ASSERT_FALSE(trace->problems().empty());
  EXPECT_NE(trace->problems().front().find("checksum"), std::string::npos);
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
      EXPECT_TRUE(trace->eventCount() == good->eventCount() || !trace->problems().empty());
    } catch (const Error&) {
    }
  }
}

TEST(StorageTest, WhatIsSealedCannotBeReadThroughTheSource) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  record(path, 10).reset();
  ASSERT_EQ(readSealed(path).size(), 1u);
  EXPECT_NE(readSealed(path).front().find("naive_sum_merge"), std::string::npos);
  const auto trace = openTrace(path);
  std::string everything;
  SqliteSource(path).readAll(
      [&](Chunk chunk) { everything.append(chunk.body.begin(), chunk.body.end()); },
      [](std::string) {});
  EXPECT_EQ(everything.find("naive_sum_merge"), std::string::npos);
}

TEST(StorageFaultTest, AFileWhoseRecorderWasKilledOpensUpToTheLastCommit) {
  test::TempDir dir;
  for (int round = 0; round < 20; ++round) {
    const std::string path = dir.file("killed" + std::to_string(round) + ".rscope");
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto recorder = record(path, 500);
      recorder->flush();
      (void)!write(ready[1], "x", 1);
      for (int i = 500;; ++i) recorder->event(stageEvent(i % 30000)), usleep(10);
    }
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    usleep(static_cast<useconds_t>(1000 * (round * 7 % 60)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]);
    close(ready[1]);
    const auto trace = openTrace(path);
    EXPECT_GE(trace->eventCount(), 500u);
    ASSERT_FALSE(trace->problems().empty());
    EXPECT_NE(trace->problems().back().find("cut"), std::string::npos);
  }
}

TEST(StorageFaultTest, ATraceWhoseWriterDiedWhileClosingItIsRolledBackAndRead) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  {
    SqliteSink sink(path);
    sink.close();
  }
  const pid_t writer = ::fork();
  if (writer == 0) {  // changes pages of the file itself, and dies before it commits
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    sqlite3_exec(db,
                 "PRAGMA cache_size=1; BEGIN; PRAGMA application_id=1; WITH RECURSIVE n(i) AS "
                 "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO sealed "
                 "SELECT i, randomblob(4000) FROM n",
                 nullptr, nullptr, nullptr);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(writer, &status, 0);
  ASSERT_TRUE(std::filesystem::exists(path + "-journal"));
  EXPECT_EQ(openTrace(path)->eventCount(), 0u);
}

}  // namespace
}  // namespace ringscope::traces
