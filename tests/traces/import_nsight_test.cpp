// SPDX-License-Identifier: Apache-2.0
// SQLite exports of Nsight Systems, written by hand in the schema of its user guide.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>

#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using test::anySays;

constexpr const char* kNames =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES(1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'),"
    "(2, 'void flash_fwd_kernel<x>'), (3, 'ncclDevKernel_SendRecv'), (4, 'cudaLaunchKernel'),"
    "(5, 'step 7'), (6, 'void flash_bwd_kernel<x>'), (7, 'gemm');";
constexpr const char* kTables =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT NOT NULL, end INT NOT NULL, deviceId INT, "
    "streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT NOT NULL, end INT NOT NULL, globalTid INT, "
    "correlationId INT, nameId INT);"
    "CREATE TABLE NVTX_EVENTS(start INT NOT NULL, end INT, globalTid INT, text TEXT, textId INT);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INT, utcTime TEXT, localTime TEXT);";

/// Returns the rows of one process whose capture began at `began`: a step with attention and a
/// collective of 50 ns that was launched 10 ns before it began.
std::string processRows(int process, int device, int begin) {
  const std::string pid = std::to_string(std::int64_t{process} << 24);
  const std::string tid = std::to_string((std::int64_t{process} << 24) + 9);
  const auto at = [&](int ns) { return std::to_string(begin + ns); };
  const auto kernel = [&](int start, int end, int correlation, int name) {
    return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + at(start) + "," + at(end) + "," +
           std::to_string(device) + ",20," + std::to_string(correlation) + "," + pid + "," +
           std::to_string(name) + "," + std::to_string(name) + ");";
  };
  return "INSERT INTO NVTX_EVENTS VALUES(" + at(0) + ",NULL," + tid + ",NULL,5);" +
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(" + at(90) + "," + at(95) + "," + tid +
         ",1,4);" + kernel(100, 150, 1, 1) + kernel(20, 60, 2, 2) + kernel(160, 190, 3, 6) +
         kernel(10, 15, 4, 7) + kernel(70, 80, 5, 3);
}

class ImportNsight : public testing::Test {
 protected:
  ImportNsight() { std::filesystem::create_directory(folder()); }
  std::string folder() const { return dir_.file("exports"); }
  std::string write(const std::string& name, const std::string& sql) const {
    std::string path = folder() + "/" + name;
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
    return path;
  }
  static std::string began(std::int64_t ns) {
    return "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(" + std::to_string(ns) + ",'','');";
  }

 private:
  test::TempDir dir_;
};

TEST_F(ImportNsight, MatchesCollectivesOfOneFilePerRank) {
  constexpr std::int64_t kBegan = 1'700'000'000'000'000'000;
  write("rank0.sqlite", std::string(kNames) + kTables + processRows(70, 0, 0) + began(kBegan));
  write("rank1.sqlite", std::string(kNames) + kTables + processRows(71, 0, 10) + began(kBegan - 5));
  const auto trace = openTrace(folder());
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_EQ(trace->worldSize(), 2);
  const auto counts = importedFrom(*trace);
  EXPECT_EQ(counts->format, "Nsight Systems");
  EXPECT_EQ(counts->collectives, 1);
  EXPECT_EQ(counts->unmatched_collectives, 0);
  EXPECT_TRUE(anySays(counts->lacks, "1 kernel of sends and receives left out"));
  std::vector<EventKind> kinds;
  for (const Event& event : trace->events(WorldRank::of(1))) {
    kinds.push_back(event.kind);
    EXPECT_EQ(event.place.train_step, 7);
    EXPECT_EQ(event.clock, Clock::kDevice);
    if (event.kind != EventKind::kCollective) continue;
    // Run clock 0 is the attention of rank 0, 20 ns after its capture began.
    EXPECT_EQ(event.begin_ns, 90 + 5 - 20);
    EXPECT_EQ(event.start_ns, 100 + 5 - 20);
    EXPECT_EQ(event.end_ns, 150 + 5 - 20);
  }
  EXPECT_EQ(kinds, (std::vector{EventKind::kAttend, EventKind::kCollective, EventKind::kAttend}));
}

TEST_F(ImportNsight, TakesTheProcessesOfOneFileByTheirGpu) {
  const std::string path =
      write("job.sqlite", std::string(kNames) + kTables + processRows(90, 0, 0) +
                              processRows(80, 1, 1) + began(9));
  const auto trace = openTrace(path);
  const auto counts = importedFrom(*trace);
  EXPECT_EQ(trace->worldSize(), 2);
  EXPECT_EQ(counts->collectives, 1);
  EXPECT_TRUE(anySays(counts->lacks, "the order of their GPUs is taken"));
}

TEST_F(ImportNsight, SaysWhichTablesAreMissing) {
  const std::string path =
      write("old.sqlite",
            std::string(kNames) +
                "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, shortName INT);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(5, 9, 1), (9, 5, 1);");
  const auto trace = openTrace(path);
  const auto counts = importedFrom(*trace);
  for (const char* table :
       {"CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_SESSION_START_TIME"})
    EXPECT_TRUE(anySays(counts->lacks, std::string("has no table ") + table)) << table;
  EXPECT_TRUE(anySays(trace->problems(), "1 kernel left out for impossible times"));
}

TEST_F(ImportNsight, RejectsFilesWhoseRanksAreUnknown) {
  const std::string all = std::string(kNames) + kTables;
  write("rank0.sqlite", all + processRows(70, 0, 0));
  write("rank1.sqlite", all + processRows(71, 0, 0) + processRows(72, 1, 0));
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "holds several processes");
  const std::string two = write("two.sqlite", all + processRows(70, 0, 0) + processRows(70, 1, 0));
  EXPECT_ERROR(openTrace(two), ErrorCode::kInput, "start one process per GPU");
  const std::string other = write("other.sqlite", "CREATE TABLE mine(a);");
  EXPECT_ERROR(openTrace(other), ErrorCode::kInput, "has no table StringIds");
  const std::string none = write("none.sqlite", all);
  EXPECT_ERROR(openTrace(none), ErrorCode::kInput, "holds no kernel");
}

TEST_F(ImportNsight, RunsNothingThatAFileContains) {
  // A view in place of a table is no table.
  const std::string view =
      write("view.sqlite", std::string(kNames) +
                               "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, "
                               "2 AS end, 1 AS shortName;");
  EXPECT_ERROR(openTrace(view), ErrorCode::kInput, "holds no kernel");
  // A generated column is no column, because it would run an expression.
  const std::string generated =
      write("generated.sqlite", std::string(kNames) +
                                    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(end INT, shortName "
                                    "INT, start INT AS (length(hex(zeroblob(1)))));"
                                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(5, 1);");
  EXPECT_ERROR(openTrace(generated), ErrorCode::kInput, "1 kernel left out for impossible");
}

TEST_F(ImportNsight, OpensOrRejectsFiveHundredDamagedFiles) {
  const std::string path =
      write("rank0.sqlite", std::string(kNames) + kTables + processRows(70, 0, 0) + began(9));
  const test::DamageCounts counts = test::openDamaged(path);
  EXPECT_GT(counts.opened, 50);
  EXPECT_GT(counts.rejected, 50);
}

}  // namespace
}  // namespace ringscope::traces
