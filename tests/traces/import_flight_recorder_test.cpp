// SPDX-License-Identifier: Apache-2.0
// Dumps of PyTorch's Flight Recorder. Some are real dumps of four Gloo processes
// (tests/reference/kineto's make.py). The dumps of NCCL were written by hand in the form of
// FlightRecorder.hpp, version 2.10.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/expect_error.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;
using test::anySays;

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

json entry(const std::string& name, int number, std::int64_t created_us, std::int64_t took_us) {
  const std::int64_t created = kStart + created_us * 1000;
  const bool message = name.find("<-") != name.npos || name.find("->") != name.npos;
  return {{"profiling_name", name},
          {"process_group", {"0", "default_pg"}},
          {"collective_seq_id", message ? 0 : number},
          {"p2p_seq_id", message ? number : 0},
          {"is_p2p", message},
          {"input_sizes", {{8, 4}}},
          {"input_dtypes", {"BFloat16"}},
          {"output_sizes", {{8, 4}}},
          {"output_dtypes", {"BFloat16"}},
          {"time_created_ns", created},
          {"time_discovered_started_ns", took_us > 0 ? created + 1000 : 0},
          {"time_discovered_completed_ns", took_us > 0 ? created + took_us * 1000 : 0},
          {"state", took_us > 0 ? "completed" : "scheduled"},
          {"retired", took_us > 0}};
}

class ImportFlightRecorder : public testing::Test {
 protected:
  ImportFlightRecorder() { std::filesystem::create_directory(folder()); }
  std::string folder() const { return dir_.file("dumps"); }
  std::string file(int rank) const {
    return folder() + "/nccl_trace_rank_" + std::to_string(rank) + ".json";
  }
  void write(int rank, const std::vector<json>& entries,
             const std::string& ranks = "[0, 1]") const {
    put(file(rank),
        json{{"comm_lib_version", "2.27.5"},
             {"version", "2.10"},
             {"pg_config", {{"0", {{"name", "0"}, {"desc", "default_pg"}, {"ranks", ranks}}}}},
             {"entries", entries}}
            .dump());
  }
  static void put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  Imported imported() const { return *importedFrom(*openTrace(folder())); }

 private:
  test::TempDir dir_;
};

TEST_F(ImportFlightRecorder, MatchesCollectivesByNumberAndMessagesByTheirRanks) {
  // Rank 0's buffer has lost the first call.
  write(0, {entry("nccl:all_reduce", 2, 100, 50), entry("nccl:send 0->1", 1, 300, 50)});
  write(1, {entry("nccl:all_reduce", 1, 10, 50), entry("nccl:all_reduce", 2, 110, 45),
            entry("nccl:recv 1<-0", 1, 290, 70)});
  const auto trace = openTrace(folder());
  const auto counts = importedFrom(*trace);
  EXPECT_EQ(counts->collectives, 1);
  EXPECT_EQ(counts->messages, 1);
  EXPECT_EQ(counts->unmatched_collectives, 1);
  const auto events = trace->events(WorldRank::of(0));
  const Event send = *std::ranges::find(events, EventKind::kSend, &Event::kind);
  EXPECT_EQ(send.peer, WorldRank::of(1));
  EXPECT_EQ(send.bytes, 64);
  EXPECT_EQ(send.begin_ns, 290'000);
  EXPECT_EQ(send.end_ns, 340'000);
  EXPECT_TRUE(counts->standing.empty());
}

TEST_F(ImportFlightRecorder, ReportsMissingRanksAndOpenCallsOfAHungJob) {
  write(0, {entry("nccl:all_reduce", 1, 10, 50), entry("nccl:broadcast", 2, 100, 0)});
  write(1, {entry("nccl:all_reduce", 1, 10, 50)});
  const Imported hung = imported();
  EXPECT_TRUE(anySays(hung.standing,
                      "rank 1 had not called collective 2 (broadcast) of the process group '0', "
                      "which rank 0 had; its last was 1"));
  EXPECT_TRUE(anySays(hung.standing,
                      "collective 2 (broadcast) of the process group '0' was not "
                      "complete on rank 0"));
}

TEST_F(ImportFlightRecorder, ACallThatWasGivenUpTimedOut) {
  json open = entry("nccl:all_reduce", 1, 10, 0);
  open["retired"] = true;
  write(0, {open});
  EXPECT_TRUE(anySays(imported().standing, "timed out on rank 0"));
}

TEST_F(ImportFlightRecorder, SaysWhatADumpLacksAndWhichRanksAreMissing) {
  write(0, {entry("nccl:all_reduce", 1, 10, 50)}, "[0, 1, 2]");
  const Imported one = imported();
  EXPECT_TRUE(anySays(one.lacks, "no position ids"));
  EXPECT_TRUE(anySays(one.lacks, "ringscope.record("));
  EXPECT_TRUE(anySays(one.lacks, "the dumps of ranks 1 and 2 of 3 are missing"));
  EXPECT_TRUE(anySays(one.lacks, "later than they were"));
}

TEST_F(ImportFlightRecorder, APickleIsIgnoredBesideTheJsonThatWasMadeFromIt) {
  put(folder() + "/nccl_trace_rank_0", std::string("\x80\x02}q\x00.", 6));
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "is a dump of version ''");
  write(0, {entry("nccl:all_reduce", 1, 10, 50)}, "[0]");
  EXPECT_EQ(imported().collectives, 1);
}

TEST_F(ImportFlightRecorder, RejectsOrLeavesOutImpossibleEntries) {
  write(5, {entry("nccl:all_reduce", 1, 10, 50)});
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "does not hold");
  std::filesystem::remove(file(5));
  put(folder() + "/dump.json", "{\"entries\": []}");
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "must end with the rank");
  std::filesystem::remove(folder() + "/dump.json");
  json late = entry("nccl:all_reduce", 1, 10, 50), huge = entry("nccl:all_reduce", 2, 100, 50);
  late["time_created_ns"] = "soon";
  huge["input_sizes"] = {{std::int64_t{1} << 60, 1 << 20}};
  write(0, {late, huge, 7});
  const auto trace = openTrace(folder());
  EXPECT_TRUE(anySays(trace->problems(), "2 calls cannot be read"));
  EXPECT_EQ((*trace->events(WorldRank::of(0)).begin()).bytes, 0);
  put(file(0), "{\"version\": \"9.1\", \"entries\": []}");
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "versions 2.x");
  put(file(0), "{\"version\": \"2.10\", \"entr");
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "not valid JSON");
}

TEST(ImportGlooFlightRecorder, RealDumpsOfAGlooJobHaveTheirCollectivesMatched) {
  const auto trace = openTrace(test::inSources("tests/reference/flight_recorder"));
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_EQ(trace->worldSize(), 4);
  const auto counts = importedFrom(*trace);
  EXPECT_EQ(counts->unmatched_collectives, 0);
  EXPECT_GT(counts->collectives, 40);
  EXPECT_TRUE(counts->standing.empty());
  EXPECT_TRUE(anySays(counts->lacks, "only when it was asked for"));
  EXPECT_TRUE(anySays(counts->lacks, "do not list the ranks"));
}

}  // namespace
}  // namespace ringscope::traces
