// SPDX-License-Identifier: Apache-2.0
// Folders that hold the files of several tools, and clocks of ranks that differ.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/flight_dump.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;
using test::anySays;

const std::string kReference = test::inSources("tests/reference");
constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

/// A folder into which files are put.
class MixedFolder : public testing::Test {
 protected:
  MixedFolder() { std::filesystem::create_directory(path()); }
  std::string path() const { return dir_.file("job"); }
  void copy(const std::string& file) const {
    std::filesystem::copy_file(kReference + "/" + file,
                               path() + "/" + std::filesystem::path(file).filename().string());
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path() + "/" + name, std::ios::binary) << text;
  }
  Imported imported() const { return *importedFrom(*openTrace(path())); }

  /// Writes a dump of NCCL of one rank of 2. Call i of all_reduce is posted at 1000·i µs of the
  /// rank's clock, which is ahead by `ahead_us`, and takes 300 µs.
  void dump(int rank, std::int64_t ahead_us, int calls = 3) const {
    put("nccl_trace_rank_" + std::to_string(rank) + ".json",
        test::flightDump(kStart + ahead_us * 1000, calls));
  }
  /// Writes a log of NCCL's Inspector with calls at the same times.
  void log(int rank) const {
    std::string lines;
    for (int i = 1; i <= 3; ++i) {
      const std::int64_t at_us = kStart / 1000 + i * 1000;
      lines += R"({"header":{"id":"0xa","rank":)" + std::to_string(rank) +
               R"(,"n_ranks":2,"nnodes":1},"metadata":)"
               R"({"inspector_output_format_version":"v4.0","dump_timestamp_us":)" +
               std::to_string(at_us + 500) + R"(},"coll_perf":{"coll":"AllReduce","coll_sn":)" +
               std::to_string(i + 40) +
               R"(,"coll_msg_size_bytes":128,"coll_exec_time_us":300,)"
               R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":1.5,)"
               R"("event_trace_ts":{"coll_start_ts":)" +
               std::to_string(at_us) + R"(,"coll_stop_ts":)" + std::to_string(at_us + 2) +
               R"(,"kernel_events":[{"channel_id":0,"kernel_start_ts":)" +
               std::to_string(at_us + 5) + R"(,"kernel_stop_ts":)" + std::to_string(at_us + 300) +
               "}]}}}\n";
    }
    put("host-pid" + std::to_string(70 + rank) + ".log", lines);
  }

 private:
  test::TempDir dir_;
};

TEST_F(MixedFolder, RanksWithoutAProfileAreThoseOfTheirDumps) {
  for (const char* file : {"kineto/rank0.json", "kineto/rank1.json",
                           "flight_recorder/gloo_rank_2.json", "flight_recorder/gloo_rank_3.json"})
    copy(file);
  const auto trace = openTrace(path());
  EXPECT_EQ(trace->worldSize(), 4);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_FALSE(trace->events(WorldRank::of(rank)).empty()) << rank;
  const Imported said = imported();
  EXPECT_EQ(said.format, "PyTorch profiler and PyTorch Flight Recorder");
  EXPECT_TRUE(anySays(said.lacks, "PyTorch profiler: a profile has no position ids"));
  EXPECT_TRUE(anySays(said.lacks, "PyTorch Flight Recorder: a dump of the Flight Recorder has"));
  EXPECT_FALSE(anySays(said.lacks, "missing"));
}

TEST_F(MixedFolder, AProfileTellsTheCallsAndADumpWhereRanksStood) {
  for (int rank = 0; rank < 4; ++rank) {
    copy("kineto/rank" + std::to_string(rank) + ".json");
    copy("flight_recorder/gloo_rank_" + std::to_string(rank) + ".json");
  }
  const auto alone = openTrace(kReference + "/kineto"), both = openTrace(path());
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(both->events(WorldRank::of(rank)).size(), alone->events(WorldRank::of(rank)).size());
  EXPECT_TRUE(anySays(imported().lacks, "are those of PyTorch profiler; the dumps of"));
}

TEST_F(MixedFolder, CallsOfDifferentToolsAreMatchedInTheirOrder) {
  dump(0, 0);
  log(1);
  const Imported said = imported();
  EXPECT_EQ(said.format, "NCCL Inspector and PyTorch Flight Recorder");
  EXPECT_EQ(said.collectives, 3);
  EXPECT_EQ(said.unmatched_collectives, 0);
}

TEST_F(MixedFolder, FilesOfOneToolAreNoMixture) {
  dump(0, 0);
  dump(1, 0);
  EXPECT_TRUE(filesOfMixed(path()).empty());
  EXPECT_EQ(imported().format, "PyTorch Flight Recorder");
}

TEST_F(MixedFolder, AClockThatIsAheadIsMovedByTheLeastThatItsCallsAllow) {
  dump(0, 0);
  dump(1, 5000);
  const auto trace = openTrace(path());
  // Rank 0 ends 300 µs after its call, so rank 1 posted at most then: 4.7 ms of 5 are certain.
  EXPECT_TRUE(anySays(imported().lacks,
                      "the clock of rank 1 is ahead: its times were moved back by 4.7 ms"));
  const Event first = trace->events(WorldRank::of(0)).front(),
              other = trace->events(WorldRank::of(1)).front();
  EXPECT_EQ(other.begin_ns - first.begin_ns, 300'000);
}

TEST_F(MixedFolder, ClocksThatAgreeAreLeftAlone) {
  dump(0, 0);
  dump(1, 900);
  const auto trace = openTrace(path());
  EXPECT_FALSE(anySays(imported().lacks, "is ahead"));
  EXPECT_EQ(trace->events(WorldRank::of(1)).front().begin_ns -
                trace->events(WorldRank::of(0)).front().begin_ns,
            900'000);
}

TEST_F(MixedFolder, RanksThatOnlyAnswerEachOtherAreSaidToBeAlignedAlone) {
  for (int rank = 0; rank < 4; ++rank) {
    json dump = json::parse(test::flightDump(kStart + (rank < 2 ? 0 : 5'000'000'000), 3));
    dump["pg_config"]["0"]["ranks"] = rank < 2 ? "[0, 1]" : "[2, 3]";
    dump["pg_config"]["0"]["name"] = rank < 2 ? "a" : "b";
    put("nccl_trace_rank_" + std::to_string(rank) + ".json", dump.dump());
  }
  EXPECT_TRUE(anySays(imported().lacks, "are aligned with each other only, because no completed"));
}

TEST_F(MixedFolder, ARankWithoutACommonCallKeepsItsClock) {
  dump(0, 0, 0);
  dump(1, 5000);
  EXPECT_TRUE(anySays(imported().lacks, "the times of ranks 0 and 1 are by their own clocks"));
}

}  // namespace
}  // namespace ringscope::traces
