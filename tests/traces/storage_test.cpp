// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/storage_files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/join/join_files.h"
#include "traces/format/storage/sealed.h"
#include "traces/format/storage/sqlite.h"
#include "traces/format/storage/sqlite_source.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::record;
using test::stageEvent;

TEST(StorageTest, ReadsWhatWasRecordedAndLeavesOneFile) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  record(path, 1000).reset();
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  const auto trace = openTrace(path);
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_EQ(trace->eventCount(), 1000u);
  EXPECT_EQ(trace->moments().size(), 1000u);
  EXPECT_EQ(trace->run()->cp, 1);
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

TEST(StorageTest, AFileThatLiesWhereSqliteWritesIsNeverReplaced) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  std::ofstream(path + "-journal") << "dear diary";
  EXPECT_ERROR(SqliteSink sink(path), ErrorCode::kInput, "lies where SQLite");
  EXPECT_EQ(std::filesystem::file_size(path + "-journal"), 10u);
}

TEST(StorageTest, AnOlderTraceGoesOnlyOnceTheNewRunIsUnderWay) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  record(path, 10).reset();
  const auto record_more = [&](int events) {
    std::vector<std::unique_ptr<ChunkSink>> sinks;
    auto file = std::make_unique<SqliteSink>(path, ReplaceTrace::kWhenTheRunIsUnderWay);
    file->seal("{}");
    sinks.push_back(std::move(file));
    Recorder recorder(1, std::move(sinks));
    recorder.note("run", R"({"cp": 7})");
    recorder.flush();
    EXPECT_EQ(openTrace(path)->eventCount(), 10u) << "the older one";
    for (int i = 0; i < events; ++i) recorder.event(stageEvent(i));
  };
  record_more(0);
  EXPECT_EQ(openTrace(path)->eventCount(), 10u);
  record_more(3);
  EXPECT_EQ(openTrace(path)->eventCount(), 3u);
  EXPECT_EQ(openTrace(path)->note("run")["cp"], 7);
  EXPECT_TRUE(openTrace(path)->problems().empty());
  EXPECT_EQ(readSealed(path).size(), 1u);
}

TEST(StorageTest, AFileThatIsBeingRecordedIsNotTakenAwayByAnotherRun) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  const auto refused = [&](ReplaceTrace when) {
    EXPECT_ERROR(SqliteSink(path, when), ErrorCode::kInput, "is being recorded by another run");
    EXPECT_ERROR(joinFiles({dir.file("b.rscope")}, path), ErrorCode::kInput, "is being recorded");
  };
  record(dir.file("b.rscope"), 10).reset();
  const auto recorder = record(path, 10);
  refused(ReplaceTrace::kAtOnce);
  refused(ReplaceTrace::kWhenTheRunIsUnderWay);
  recorder->close();
  EXPECT_EQ(openTrace(path)->eventCount(), 10u);
  {
    const SqliteSink waits(path, ReplaceTrace::kWhenTheRunIsUnderWay);
    refused(ReplaceTrace::kAtOnce);
  }
  EXPECT_EQ(openTrace(path)->eventCount(), 10u);
  EXPECT_NO_THROW(SqliteSink{path});
}

TEST(StorageTest, AnUnwritablePathIsOneClearSentence) {
  EXPECT_ERROR(SqliteSink sink("/nonexistent/folder/a.rscope"), ErrorCode::kInput,
               "cannot be written");
}

TEST(StorageTest, SealedDocumentsCannotBeReadThroughTheSource) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  record(path, 10).reset();
  ASSERT_EQ(readSealed(path).size(), 1u);
  EXPECT_NE(readSealed(path).front().find("naive_sum_merge"), std::string::npos);
  const auto trace = openTrace(path);
  std::string everything;
  SqliteSource(path).readAll(
      [&](Chunk chunk) { everything.append(chunk.body.begin(), chunk.body.end()); },
      [](const std::string&) {});
  EXPECT_EQ(everything.find("naive_sum_merge"), std::string::npos);
}

}  // namespace
}  // namespace ringscope::traces
