// SPDX-License-Identifier: Apache-2.0
// Folders that hold a recorded job and files of other tools.
#include <gtest/gtest.h>

#include "tests/support/flight_dump.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/lacks.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;
using test::anySays;

/// The wall clock at which the recording in tests/reference/recording began.
constexpr std::int64_t kStart = 1'795'610'569'850'800'608;

/// A recording of ranks 0 and 1 beside which files are put.
class BesideRecording : public testing::Test {
 protected:
  void removeRank1() const {
    for (const auto& entry : std::filesystem::directory_iterator(recording_.path()))
      if (entry.path().filename().string().starts_with("rank-00001"))
        std::filesystem::remove(entry.path());
  }
  void dump(int rank, int calls = 3, const std::string& prefix = "nccl_trace_rank_") const {
    recording_.put(prefix + std::to_string(rank) + ".json", test::flightDump(kStart, calls));
  }

  /// Writes a dump with the collectives that rank 1 recorded, by a clock that is ahead, and removes
  /// the lines of rank 1.
  void replaceRank1ByItsDump(std::int64_t ahead_ns) const {
    std::int64_t began_ns = 0, posted_before = -1;
    std::map<std::int64_t, json> calls;
    std::map<std::int64_t, std::int64_t> waited;
    for (const std::string& text : recording_.lines("rank-00001.jsonl")) {
      const json line = json::parse(text);
      if (line["line"] == "header")
        began_ns = line["clock"]["unix_ns"].get<std::int64_t>() + ahead_ns;
      if (line["line"] == "collective") calls[line["number"]] = line;
      if (line["line"] == "waited") waited[line["number"]] = line["end_ns"];
    }
    json entries = json::array();
    for (const auto& [number, call] : calls) {
      if (call["posted_ns"] <= posted_before) continue;  // within a functional collective
      posted_before = call["posted_ns"];
      const std::int64_t begin = call["begin_ns"], end = waited.at(number);
      entries.push_back({{"profiling_name", "nccl:" + call["operator"].get<std::string>()},
                         {"process_group", {"0", "default_pg"}},
                         {"is_p2p", false},
                         {"input_sizes", {{1}}},
                         {"input_dtypes", {"Float"}},
                         {"time_created_ns", began_ns + begin},
                         {"time_discovered_started_ns", began_ns + begin},
                         {"time_discovered_completed_ns", began_ns + end},
                         {"state", "completed"}});
    }
    removeRank1();
    const json groups = {{"0", {{"name", "0"}, {"desc", "default_pg"}, {"ranks", "[0, 1]"}}}};
    recording_.put("nccl_trace_rank_1.json",
                   json{{"version", "2.10"}, {"pg_config", groups}, {"entries", entries}}.dump());
  }

  /// Returns the begin of the last event of rank 1 in a folder.
  static std::int64_t lastBegin(const Trace& trace) {
    std::int64_t last = 0;
    for (const Event& event : trace.events(WorldRank::of(1))) last = std::max(last, event.begin_ns);
    return last;
  }

  test::RecordingCopy recording_;
};

TEST_F(BesideRecording, ARankWithoutLinesHasTheCallsOfItsDump) {
  removeRank1();
  dump(1);
  const auto trace = openTrace(recording_.path());
  const auto events = trace->events(WorldRank::of(1));
  ASSERT_EQ(events.size(), 3u);
  // The dump's first call is a millisecond after the begin of the recording.
  EXPECT_NEAR(static_cast<double>((*events.begin()).begin_ns), 1e6, 5e6);
  EXPECT_EQ((*events.begin()).group, trace->groups().front().id);
  const auto lacks = findLacks(*trace);
  EXPECT_TRUE(anySays(lacks, "calls of rank 1 are those of PyTorch Flight Recorder"));
  EXPECT_TRUE(anySays(lacks, "PyTorch Flight Recorder: a dump of the Flight Recorder has"));
}

TEST_F(BesideRecording, AClockThatDiffersIsAlignedWithTheRecording) {
  const std::int64_t recorded = lastBegin(*openTrace(recording_.path()));
  for (const std::int64_t ahead_ns : {5'000'000'000, -5'000'000'000}) {
    const BesideRecording_AClockThatDiffersIsAlignedWithTheRecording_Test other;
    other.replaceRank1ByItsDump(ahead_ns);
    const auto trace = openTrace(other.recording_.path());
    const auto lacks = findLacks(*trace);
    EXPECT_TRUE(anySays(lacks, ahead_ns > 0 ? "the clock of rank 1 is ahead: its times were moved "
                                              "back by"
                                            : "the clock of rank 1 is behind: its times were moved "
                                              "forward by"))
        << testing::PrintToString(lacks);
    EXPECT_TRUE(anySays(lacks, "24 calls of these ranks match calls of other ranks"));
    EXPECT_FALSE(anySays(lacks, "by their own clocks"));
    // Calls take some milliseconds, which bounds how well they tell the clock.
    EXPECT_NEAR(static_cast<double>(lastBegin(*trace)), static_cast<double>(recorded), 20e6);
  }
}

TEST_F(BesideRecording, AClockIsSaidNotToBeAlignedWhereNoCallMatches) {
  removeRank1();
  dump(1, 2);
  const auto lacks = findLacks(*openTrace(recording_.path()));
  EXPECT_TRUE(anySays(lacks, "the times of rank 1 are by their own clocks"));
  EXPECT_TRUE(anySays(lacks, "0 calls of these ranks match calls of other ranks"));
}

TEST_F(BesideRecording, ALogWithoutTimesIsPlacedByItsCalls) {
  removeRank1();
  recording_.put("rank1.json",
                 R"({"format": "torch.utils._debug_mode.DebugMode.logs", "version": 1, "logs": [)"
                 R"({"type": "op", "call_depth": 1, "op_name": "_c10d_functional::all_reduce",)"
                 R"( "args_str": "t: f32[8], sum, 0"}]})");
  const auto trace = openTrace(recording_.path());
  EXPECT_EQ(trace->events(WorldRank::of(1)).size(), 1U);
  EXPECT_TRUE(anySays(findLacks(*trace), "the order of rank 1 is not placed among"));
}

TEST_F(BesideRecording, FilesOfRecordedRanksChangeNothing) {
  const auto alone = openTrace(recording_.path());
  dump(0);
  dump(1);
  const auto both = openTrace(recording_.path());
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(both->events(WorldRank::of(rank)).size(), alone->events(WorldRank::of(rank)).size());
  EXPECT_EQ(both->problems(), alone->problems());
  EXPECT_TRUE(anySays(findLacks(*both),
                      "calls of ranks 0 and 1 are those of the recording; the dumps of PyTorch "
                      "Flight Recorder give nothing more here"));
  EXPECT_EQ(diagnose(*both).findings().size(), diagnose(*alone).findings().size());
}

TEST_F(BesideRecording, ACutRecordingSaysWhereRanksStood) {
  const std::string all = recording_.text(test::kFirstFile);
  recording_.put(test::kFirstFile, all.substr(0, all.rfind('\n', all.size() - 2) + 1));
  dump(0, 3);
  dump(1, 2);
  EXPECT_TRUE(anySays(findLacks(*openTrace(recording_.path())),
                      "at the end, by PyTorch Flight Recorder: "));
}

TEST_F(BesideRecording, FilesOfAnotherJobAreNotRead) {
  for (int rank = 0; rank < 4; ++rank) {
    const std::string name = "rank" + std::to_string(rank) + ".json";
    std::filesystem::copy_file(test::inSources("tests/reference/kineto/" + name),
                               recording_.file(name));
  }
  const auto trace = openTrace(recording_.path());
  EXPECT_EQ(trace->worldSize(), 2);
  EXPECT_TRUE(anySays(trace->problems(), "are of a job of 4 ranks, and the recording of one of 2"));
}

TEST_F(BesideRecording, FilesThatCannotBeReadKeepNoRecordingClosed) {
  dump(1);
  dump(1, 3, "other_rank_");
  const auto trace = openTrace(recording_.path());
  EXPECT_FALSE(trace->events(WorldRank::of(1)).empty());
  EXPECT_TRUE(anySays(trace->problems(), "shown without the files of other tools"));
}

}  // namespace
}  // namespace ringscope::traces
