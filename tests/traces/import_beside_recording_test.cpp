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
