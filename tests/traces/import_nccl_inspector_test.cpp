// SPDX-License-Identifier: Apache-2.0
// Logs of NCCL's Inspector, written by hand in its format v4.0.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;
using test::anySays;

constexpr std::int64_t kStartUs = 1'700'000'000'000'000;

json line(const std::string& id, int rank, int ranks, const std::string& coll, int number,
          std::int64_t bytes) {
  return {{"header", {{"id", id}, {"rank", rank}, {"n_ranks", ranks}, {"nnodes", 1}}},
          {"metadata",
           {{"inspector_output_format_version", "v4.0"},
            {"dump_timestamp_us", kStartUs + number * 1000}}},
          {"coll_perf",
           {{"coll", coll},
            {"coll_sn", number},
            {"coll_msg_size_bytes", bytes},
            {"coll_exec_time_us", 40},
            {"coll_timing_source", "kernel_gpu"},
            {"coll_algobw_gbs", 1.5}}}};
}

/// Adds the times of a call with two channels.
json timed(json made) {
  json kernels = json::array();
  for (int channel = 0; channel < 2; ++channel)
    kernels.push_back({{"channel_id", channel},
                       {"kernel_start_ts", kStartUs + 5 + channel},
                       {"kernel_stop_ts", kStartUs + 40 + channel}});
  made["coll_perf"]["event_trace_ts"] = {
      {"coll_start_ts", kStartUs}, {"coll_stop_ts", kStartUs + 2}, {"kernel_events", kernels}};
  return made;
}

class ImportNcclInspector : public testing::Test {
 protected:
  ImportNcclInspector() { std::filesystem::create_directory(folder()); }
  std::string folder() const { return dir_.file("logs"); }
  void write(int process, const std::vector<json>& lines) const {
    std::ofstream out(folder() + "/host-pid" + std::to_string(process) + ".log");
    for (const json& one : lines) out << headerFirst(one) << "\n";
  }
  /// Writes the fields in the order in which the plugin writes them.
  static std::string headerFirst(const json& one) {
    if (!one.is_object()) return one.dump();
    return R"({"header":)" + one["header"].dump() + R"(,"metadata":)" + one["metadata"].dump() +
           R"(,"coll_perf":)" + one["coll_perf"].dump() + "}";
  }

 private:
  test::TempDir dir_;
};

TEST_F(ImportNcclInspector, MatchesCollectivesOfCommunicatorsByTheirNumber) {
  for (int rank = 0; rank < 4; ++rank)
    write(70 - rank, {timed(line("0xa", rank, 4, "AllReduce", 1, 64)),
                      line(rank < 2 ? "0xb" : "0xc", rank % 2, 2, "ReduceScatter", 7, 100),
                      line("0xa", rank, 4, "AllGather", 2, 32)});
  const auto trace = openTrace(folder());
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_EQ(trace->worldSize(), 4);
  const auto counts = importedFrom(*trace);
  EXPECT_EQ(counts->collectives, 4);
  EXPECT_EQ(counts->unmatched_collectives, 0);
  EXPECT_TRUE(anySays(counts->lacks, "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS"));
  const auto events = trace->events(WorldRank::of(3));
  const Event first = *events.begin();
  EXPECT_EQ(first.begin_ns, 0);
  EXPECT_EQ(first.start_ns, 5'000);
  EXPECT_EQ(first.end_ns, 41'000);
  EXPECT_EQ(first.bytes, 64);
  std::vector<std::int64_t> bytes;
  for (const Event& event : events) bytes.push_back(event.bytes);
  std::ranges::sort(bytes);
  // The reduce-scatter took 100 bytes for each of two ranks.
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{32, 64, 200}));
}

TEST_F(ImportNcclInspector, SaysWhatALogLacks) {
  write(1, {line("0xa", 1, 4, "AllReduce", 1, 64)});
  const auto counts = importedFrom(*openTrace(folder()));
  EXPECT_TRUE(anySays(counts->lacks, "NCCL_INSPECTOR_DUMP_VERBOSE=1 records the times"));
  EXPECT_TRUE(anySays(counts->lacks, "the logs of ranks 0, 2 and 3 of 4 are missing"));
}

TEST_F(ImportNcclInspector, LeavesOutLinesThatAreNoCollective) {
  json huge = line("0xa", 0, 2, "AllReduce", 2, 64), other = huge;
  huge["coll_perf"]["coll_exec_time_us"] = std::uint64_t{1} << 63;
  other["header"]["rank"] = 2;
  write(1, {line("0xa", 0, 2, "AllReduce", 1, 64), huge, other, 7});
  const auto trace = openTrace(folder());
  EXPECT_TRUE(anySays(trace->problems(), "3 lines without a readable collective"));
  const auto events = trace->events(WorldRank::of(0));
  int kept = 0;
  for (const Event& event : events) kept += event.bytes == 64 ? 1 : 0;
  EXPECT_EQ(kept, 1);
}

TEST_F(ImportNcclInspector, RejectsLogsWhoseRanksAreUnknown) {
  write(1, {line("0xa", 0, 2, "AllReduce", 1, 64)});
  write(2, {line("0xb", 0, 2, "AllReduce", 1, 64)});
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "no single communicator of all ranks");
  write(2, {line("0xa", 0, 2, "AllReduce", 1, 64), line("0xa", 1, 2, "AllReduce", 1, 64)});
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "one process per GPU");
  write(2, {line("0xb", 0, 1, "AllReduce", 1, 64)});
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "remove the file from the folder");
}

TEST_F(ImportNcclInspector, OpensOrRejectsFiveHundredDamagedFiles) {
  std::vector<json> lines;
  for (int number = 1; number <= 20; ++number)
    lines.push_back(timed(line("c0ffee", 0, 2, "AllReduce", number, 4096)));
  write(1, lines);
  const test::DamageCounts counts = test::openDamaged(folder() + "/host-pid1.log");
  EXPECT_GT(counts.opened, 50);
  EXPECT_GT(counts.rejected, 0);
}

}  // namespace
}  // namespace ringscope::traces
