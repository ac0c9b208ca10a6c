// SPDX-License-Identifier: Apache-2.0
// The files that SQLite keeps beside a trace: of recorders that died, of recorders that still
// write, and of copies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/campaign.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/storage_files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::readContent;
using test::record;
using test::stageEvent;

TEST(StorageFaultTest, AFileWhoseRecorderWasKilledOpensUpToTheLastCommit) {
  test::TempDir dir;
  for (test::Campaign campaign(20, 3); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    const std::string path = dir.file(campaign.text() + ".rscope");
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
    campaign.anyMoment(std::chrono::milliseconds(60));
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

TEST(StorageTest, ADiscardableTraceHasNoFilesBesideItAndOpensOnceClosed) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  const std::vector<Event> events(100'000, stageEvent(1));
  Chunk chunk = makeChunk(std::span<const Event>(events));
  chunk.seq = 1;
  chunk.checksum = computeChecksum(chunk);
  SqliteSink sink(path, ReplaceTrace::kAtOnce, UnclosedTrace::kIsNoTrace);
  sink.write(chunk);
  for (const char* beside : {"-wal", "-journal"})
    EXPECT_FALSE(std::filesystem::exists(path + beside)) << beside;
  sink.close();
  EXPECT_EQ(openTrace(path)->eventCount(), events.size());
}

/// Leaves a trace whose writer changed pages of the file itself and died before it committed.
void leaveHotJournal(const std::string& path) {
  {
    SqliteSink sink(path);
    sink.close();
  }
  const pid_t writer = ::fork();
  if (writer == 0) {
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    sqlite3_exec(db,
                 "PRAGMA cache_size=1; BEGIN; PRAGMA user_version=7; WITH RECURSIVE n(i) AS "
                 "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO sealed "
                 "SELECT i, 0, randomblob(4000) FROM n",
                 nullptr, nullptr, nullptr);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(writer, &status, 0);
  ASSERT_GT(std::filesystem::file_size(path + "-journal"), 512u);
}

TEST(StorageFaultTest, RollsBackACopyOfATraceWhoseWriterDiedInClose) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  leaveHotJournal(path);
  const std::string trace = readContent(path), journal = readContent(path + "-journal");
  EXPECT_EQ(openTrace(path)->eventCount(), 0u);
  EXPECT_EQ(readContent(path), trace);
  EXPECT_EQ(readContent(path + "-journal"), journal);
}

TEST(StorageFaultTest, AJournalNeverMakesTheReaderDeleteAnotherFile) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope"), victim = dir.file("thesis.txt");
  std::ofstream(victim) << "mine";
  leaveHotJournal(path);
  std::ofstream journal(path + "-journal", std::ios::binary | std::ios::app);
  const auto big_endian = [&](std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) journal.put(static_cast<char>(value >> shift));
  };
  std::uint32_t sum = 0;
  for (const char c : victim) sum += static_cast<std::uint32_t>(c);
  big_endian(0x40000000 / 4096 + 1);  // the page that SQLite never uses
  journal << victim;
  big_endian(static_cast<std::uint32_t>(victim.size()));
  big_endian(sum);
  journal << "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" << std::flush;
  EXPECT_ERROR(openTrace(path), ErrorCode::kInput, "journal over several databases");
  EXPECT_EQ(readContent(victim), "mine");
}

TEST(StorageFaultTest, AForeignDatabaseAndItsJournalStayAsTheyAre) {
  test::TempDir dir;
  const std::string path = dir.file("a.db");
  leaveHotJournal(path);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(68) << "none";
  const std::string database = readContent(path), journal = readContent(path + "-journal");
  EXPECT_ERROR(openTrace(path), ErrorCode::kInput, "not a RingScope trace");
  EXPECT_EQ(readContent(path), database);
  EXPECT_EQ(readContent(path + "-journal"), journal);
}

TEST(StorageFaultTest, FilesBesideATraceMustBePlainFiles) {
  test::TempDir dir;
  for (const char* suffix : {"-journal", "-wal", "-shm"}) {
    const std::string path = dir.file(std::string("a") + suffix);
    record(path, 10).reset();
    ASSERT_EQ(::mkfifo((path + suffix).c_str(), 0600), 0);
    EXPECT_ERROR(openTrace(path), ErrorCode::kInput, "not a plain file");
  }
  ASSERT_EQ(::mkfifo(dir.file("pipe").c_str(), 0600), 0);
  EXPECT_ERROR(openTrace(dir.file("pipe")), ErrorCode::kInput, "not a plain file");
}

/// Returns every file of a folder with its content.
std::map<std::string, std::string> contentOfFolder(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files[entry.path().filename()] = readContent(entry.path());
  return files;
}

TEST(StorageFaultTest, AWalWithoutItsRecorderIsReadAndNothingBesideTheTraceChanges) {
  test::TempDir dir, copied;
  const std::string path = dir.file("a.rscope"), copy = copied.file("a.rscope");
  auto recorder = record(path, 500);
  recorder->flush();
  for (const char* suffix : {"", "-wal"}) std::filesystem::copy_file(path + suffix, copy + suffix);
  const auto before = contentOfFolder(copied.file(""));
  EXPECT_EQ(openTrace(copy)->eventCount(), 500u);
  EXPECT_EQ(contentOfFolder(copied.file("")), before);
}

TEST(StorageFaultTest, TheIndexBesideADeadWalIsNeitherTrustedNorChanged) {
  test::TempDir dir, copied;
  const std::string path = dir.file("a.rscope"), copy = copied.file("a.rscope");
  auto recorder = record(path, 500);
  recorder->flush();
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::copy_file(path + suffix, copy + suffix);
  const auto expect_as_it_was = [&] {
    const auto before = contentOfFolder(copied.file(""));
    const auto began = std::chrono::steady_clock::now();
    const auto trace = openTrace(copy);
    EXPECT_EQ(trace->eventCount(), 500u);
    EXPECT_EQ(trace->values(trace->tensors().front()), (std::vector<double>{1, 2, 3}));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
    EXPECT_EQ(contentOfFolder(copied.file("")), before);
  };
  expect_as_it_was();
  std::ofstream(copy + "-shm", std::ios::binary) << std::string(32768, '\x5a');
  expect_as_it_was();
  std::ofstream(copy + "-shm", std::ios::binary) << "";
  expect_as_it_was();
}

TEST(StorageFaultTest, AKilledRecordersFilesStayAsTheyAreWhenTheyAreRead) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  const pid_t recorder = ::fork();
  if (recorder == 0) {
    auto recording = record(path, 500);
    recording->flush();
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(recorder, nullptr, 0);
  const auto before = contentOfFolder(dir.file(""));
  ASSERT_EQ(before.size(), 3u) << "the trace, its WAL and its index";
  EXPECT_EQ(openTrace(path)->eventCount(), 500u);
  EXPECT_EQ(contentOfFolder(dir.file("")), before);
}

TEST(StorageFaultTest, AHotJournalBesideADeadWalIsRolledBackInACopyOnly) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  leaveHotJournal(path);
  std::ofstream(path + "-wal", std::ios::binary) << "";
  std::ofstream(path + "-shm", std::ios::binary) << std::string(32768, '\x5a');
  const auto before = contentOfFolder(dir.file(""));
  EXPECT_NO_THROW(openTrace(path));
  EXPECT_EQ(contentOfFolder(dir.file("")), before);
}

TEST(StorageFaultTest, AReaderInTheRecordersProcessLeavesItsLocksAlone) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  auto recorder = record(path, 500);
  recorder->flush();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(openTrace(path)->eventCount(), 500u);
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    // In a separate process: only the locks show that somebody records.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_start = 0x40000000;
    lock.l_len = 512;
    const int fd = ::open(path.c_str(), O_RDONLY);
    ::fcntl(fd, F_GETLK, &lock);
    ::_exit(lock.l_type != F_UNLCK ? 0 : 1);
  }
  int status = -1;
  ::waitpid(stranger, &status, 0);
  EXPECT_EQ(status, 0) << "the recorder's locks are gone";
  recorder->event(stageEvent(500));
  recorder->flush();
  EXPECT_EQ(openTrace(path)->eventCount(), 501u);
}

TEST(StorageFaultTest, AReaderThatStaysDoesNotKeepTheRecorderFromFinishing) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  auto recorder = record(path, 500);
  recorder->flush();
  const auto trace = openTrace(path);
  recorder->close();
  EXPECT_TRUE(recorder->stats().failed_sinks.empty());
  EXPECT_EQ(contentOfFolder(dir.file("")).size(), 1u) << "one file is left";
  EXPECT_EQ(trace->values(trace->tensors().front()), (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(openTrace(path)->problems().empty());
}

TEST(StorageFaultTest, AReaderDoesNotGoOnWithAnotherRecordingOfTheSameName) {
  test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  auto recorder = record(path, 10);
  recorder->flush();
  const auto trace = openTrace(path);
  recorder->close();
  std::filesystem::copy_file(path, dir.file("b.rscope"));
  std::filesystem::rename(dir.file("b.rscope"), path);
  EXPECT_ERROR(trace->values(trace->tensors().front()), ErrorCode::kInput, "has been replaced");
}

TEST(StorageFaultTest, ACopyThatLostItsWalIsOpenedAndNothingIsMadeBesideIt) {
  test::TempDir dir, copied;
  const std::string path = dir.file("a.rscope"), copy = copied.file("odd ?name#%41.rscope");
  auto recorder = record(path, 500);
  recorder->flush();
  std::filesystem::copy_file(path, copy);
  const auto trace = openTrace(copy);
  ASSERT_FALSE(trace->problems().empty());
  EXPECT_EQ(contentOfFolder(copied.file("")).size(), 1u);
}

}  // namespace
}  // namespace ringscope::traces
