// SPDX-License-Identifier: Apache-2.0
// Jobs that hung and were killed: the hangs that their recordings report, and recordings that
// report none.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/support/files.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/doctor/hang_finding.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/hang.h"

namespace ringscope::traces {
namespace {

constexpr const char* kEnd = R"({"line":"end","why":"finished","steps":3,"end_ns":90000000000})";

/// Returns a rank's last line: it has posted these collectives of the group of all three ranks, and
/// waits in the last of them or works after it.
std::string stalled(const std::vector<std::string>& posted, bool waits, int seconds) {
  const std::string ns = std::to_string(seconds) + "000000000";
  std::string last;
  for (std::size_t nth = 1; nth <= posted.size(); ++nth)
    last += (nth > 1 ? ",[" : "[") + std::to_string(nth) + ",\"" + posted[nth - 1] + "\",64]";
  const std::string count = std::to_string(posted.size());
  const std::string post =
      R"({"operator":")" + posted.back() + R"(","group":"0","nth":)" + count + R"(,"bytes":64)";
  return R"({"line":"stalled","time_ns":80000000000,"quiet_ns":)" + ns + R"(,"step":2,"in":)" +
         (waits ? post + R"(,"since_ns":)" + ns + "}" : "null") + R"(,"last":)" + post +
         R"(},"groups":{"0":[0,1,2]},"posted":[{"group":"0","nth":)" + count + R"(,"last":[)" +
         last + R"(]}],"at":{"file":"train.py","number":)" + (waits ? "41" : "7") +
         R"(,"function":"step"},"after_ns":5000000000})";
}

std::string collective(int number, const std::string& operation) {
  return R"({"line":"collective","number":)" + std::to_string(number) + R"(,"operator":")" +
         operation + R"(","group":"0","step":0,"bytes":64,"begin_ns":)" +
         std::to_string(number * 100) + R"(,"posted_ns":)" + std::to_string(number * 100 + 1) + "}";
}

/// A recorded job of three ranks; each has these lines after its first ones.
class HungJob : public testing::Test {
 protected:
  void rank(int number, const std::vector<std::string>& lines, bool watched = true) const {
    std::ofstream file(path("rank-0000" + std::to_string(number) + ".jsonl"));
    file << R"({"line":"header","ringscope":"recording","version":1,"rank":)" << number
         << R"(,"world_size":3,"clock":{"boot_id":"b","steady_ns":1,"unix_ns":2}})"
         << "\n"
         << R"({"line":"group","name":"0","members":[0,1,2]})"
         << "\n";
    if (watched)
      file << R"({"line":"watched","stalled_after_ns":5000000000})"
           << "\n";
    for (const std::string& line : lines) file << line << "\n";
  }
  void listener(const std::string& lines) const { std::ofstream(path("listener.jsonl")) << lines; }
  std::vector<Finding> findings() const {
    std::vector<Finding> hangs;
    for (Finding& finding : diagnose(*openTrace(dir_.file("."))).findings())
      if (finding.rule == kHang) hangs.push_back(std::move(finding));
    return hangs;
  }
  /// Reports whether a problem of the recording names the listener's file.
  bool saysOfListener() const {
    const auto trace = openTrace(dir_.file("."));
    return std::ranges::any_of(trace->problems(), [](const std::string& problem) {
      return problem.find("listener.jsonl") != std::string::npos;
    });
  }
  std::string ending() const { return describe(findEnding(*openTrace(dir_.file(".")))); }

 private:
  std::string path(const std::string& name) const { return dir_.file(name); }
  test::TempDir dir_;
};

TEST_F(HungJob, RanksInDifferentCollectivesAreACertainFinding) {
  rank(0, {stalled({"all_reduce", "all_reduce"}, true, 6)});
  rank(1, {stalled({"all_reduce", "barrier"}, true, 6)});
  rank(2, {stalled({"all_reduce", "all_reduce"}, true, 6)});
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, Confidence::kCertain);
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_EQ(found[0].rank, WorldRank::of(1));
  EXPECT_EQ(found[0].place.train_step, 2);
  EXPECT_EQ(found[0].evidence,
            "Ranks 0 to 2 have waited in all_reduce 2 of ranks 0 to 2 (64 B) for 6.0 s; rank 1 "
            "has posted barrier there. Ranks 0 to 2 stand at train.py:41 (step).");
}

TEST_F(HungJob, ARankThatNeverComesIsNamedWithItsLine) {
  rank(0, {stalled({"all_reduce", "broadcast"}, true, 12)});
  rank(1, {stalled({"all_reduce"}, false, 12)});
  rank(2, {stalled({"all_reduce", "broadcast"}, true, 12)});
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, Confidence::kLikely);
  EXPECT_EQ(found[0].rank, WorldRank::of(1));
  EXPECT_NE(found[0].evidence.find("rank 1 has not come there"), std::string::npos);
  EXPECT_NE(found[0].evidence.find("at train.py:7 (step)"), std::string::npos);
}

/// Returns the lines of a rank whose wait in its last collective has just ended in an error.
std::vector<std::string> broken(const std::vector<std::string>& posted, const std::string& why) {
  std::string line = stalled(posted, true, 1);
  line.insert(line.size() - 1, R"(,"broken":true)");
  return {line, R"({"line":"end","why":")" + why + R"(","steps":2,"end_ns":80000000100})"};
}

TEST_F(HungJob, ARankThatEndedBeforeAWaitBrokeIsNamedAtOnce) {
  rank(0, broken({"all_reduce"}, "failed: RuntimeError: Connection closed by peer"));
  rank(1, {});
  rank(2, {kEnd});
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, Confidence::kLikely);
  EXPECT_EQ(found[0].rank, WorldRank::of(2)) << "rank 1 may only have been slower";
  EXPECT_NE(found[0].evidence.find("rank 2 has ended its recording"), std::string::npos);
  EXPECT_NE(found[0].evidence.find("The wait of rank 0 ended in an error"), std::string::npos);
}

TEST_F(HungJob, AWaitThatBrokeBecauseARankFailedIsNoHang) {
  rank(0, broken({"all_reduce"}, "failed: RuntimeError: Connection closed by peer"));
  rank(1,
       {R"({"line":"end","why":"failed: ValueError: bad sample","steps":2,"end_ns":80000000000})"});
  rank(2, broken({"all_reduce"}, "failed: RuntimeError: Connection closed by peer"));
  EXPECT_TRUE(findings().empty());
}

TEST_F(HungJob, AFailureIsNamedBeforeTheWaitsThatItBroke) {
  rank(0, broken({"all_reduce"}, "failed: RuntimeError: Connection closed by peer"));
  // The rank had stood still, but not for another rank, and failed soon after it went on.
  rank(1, {stalled({"all_reduce"}, false, 6),
           R"({"line":"end","why":"failed: ValueError: bad sample","steps":2,"end_ns":8})"});
  rank(2, broken({"all_reduce"}, "failed: RuntimeError: Connection closed by peer"));
  EXPECT_TRUE(findings().empty());
  EXPECT_EQ(ending(), "the run failed: rank 1: failed: ValueError: bad sample");
}

TEST_F(HungJob, AWaitThatBrokeAndWasSurvivedIsNoHang) {
  std::vector<std::string> lines = broken({"all_reduce"}, "failed: ValueError: later");
  lines.insert(lines.begin() + 1,
               R"({"line":"step","step":2,"end_ns":80000000050,"microbatches":0})");
  rank(0, lines);
  rank(1, {kEnd});
  rank(2, {kEnd});
  EXPECT_TRUE(findings().empty());
}

TEST_F(HungJob, ARankThatDiedWhileOthersWaitedIsNamed) {
  rank(0, {stalled({"all_reduce"}, true, 12)});
  rank(1, {});
  rank(2, {stalled({"all_reduce"}, true, 12)});
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].evidence.find("rank 1 did not record that it stood still"), std::string::npos);
}

TEST_F(HungJob, RanksThatMadeProgressWhenKilledGiveNoFinding) {
  for (const int number : {0, 1, 2}) rank(number, {collective(1, "all_reduce")});
  EXPECT_TRUE(findings().empty());
  EXPECT_EQ(ending(),
            "the recording was cut: rank 0 wrote no last line; no rank had stood still for 5.0 s, "
            "so the job was stopped while it ran");
}

TEST_F(HungJob, ARankOneCollectiveBehindGivesNoFinding) {
  rank(0, {collective(1, "all_reduce"), collective(2, "broadcast")}, false);
  rank(1, {collective(1, "all_reduce")}, false);
  rank(2, {collective(1, "all_reduce"), collective(2, "broadcast")}, false);
  EXPECT_TRUE(findings().empty());
  EXPECT_EQ(ending(), "the recording was cut: rank 0 wrote no last line");
}

TEST_F(HungJob, AWaitThatWentOnIsNotAFinding) {
  const std::string resumed =
      R"({"line":"resumed","time_ns":81000000000,"stood_ns":12000000000,"after_ns":24000000000})";
  rank(0, {stalled({"all_reduce", "broadcast"}, true, 12), resumed});
  rank(1, {stalled({"all_reduce"}, false, 12), resumed});
  rank(2, {stalled({"all_reduce", "broadcast"}, true, 12), resumed});
  EXPECT_TRUE(findings().empty());
}

TEST_F(HungJob, AShortWaitForASlowRankIsNotAFinding) {
  rank(0, {stalled({"all_reduce", "broadcast"}, true, 6)});
  rank(1, {stalled({"all_reduce"}, false, 6)});
  rank(2, {stalled({"all_reduce", "broadcast"}, true, 6)});
  EXPECT_TRUE(findings().empty());
}

TEST_F(HungJob, AnOrderlyEndIsNotAFinding) {
  for (const int number : {0, 1, 2}) rank(number, {stalled({"all_reduce"}, number != 1, 12), kEnd});
  listener(R"({"line":"waits","certain":true,"lines":["ranks 0 and 1 wait"]})"
           "\n");
  EXPECT_TRUE(findings().empty());
  EXPECT_EQ(ending(), "the run finished");
}

TEST_F(HungJob, AProgramThatExitedWithSuccessDidNotFail) {
  for (const int number : {0, 1, 2})
    rank(number, {stalled({"all_reduce"}, number != 1, 12),
                  R"({"line":"end","why":"failed: SystemExit: 0","steps":3,"end_ns":9})"});
  EXPECT_TRUE(findings().empty());
  EXPECT_EQ(ending(), "the run finished");
}

TEST_F(HungJob, AWaitThatEndedInAnErrorIsAFinding) {
  const std::string failed =
      R"({"line":"end","why":"failed: RuntimeError: timed out","steps":3,"end_ns":90000000000})";
  rank(0, {stalled({"all_reduce", "all_reduce"}, true, 12), failed});
  rank(1, {stalled({"all_reduce", "barrier"}, true, 12), failed});
  rank(2, {stalled({"all_reduce", "all_reduce"}, true, 12), failed});
  EXPECT_EQ(findings().size(), 1u);
}

TEST_F(HungJob, RecordedCallsThatDifferAreAFindingByThemselves) {
  rank(0, {collective(1, "all_reduce"), collective(2, "all_reduce")}, false);
  rank(1, {collective(1, "all_reduce"), collective(2, "all_reduce")}, false);
  rank(2, {collective(1, "all_reduce"), collective(2, "barrier")}, false);
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, WorldRank::of(2));
  EXPECT_EQ(found[0].evidence,
            "Call 2 of group 0 is all_reduce on ranks 0 and 1, and barrier on rank 2.");
}

TEST_F(HungJob, CallsThatCouldNotAllBeObservedAreNotCompared) {
  rank(0, {collective(1, "all_reduce"), collective(2, "all_reduce")}, false);
  rank(1, {R"({"line":"trouble","where":"posted","error":"E"})", collective(2, "barrier")}, false);
  rank(2, {collective(1, "all_reduce"), collective(2, "all_reduce")}, false);
  EXPECT_TRUE(findings().empty());
}

TEST_F(HungJob, AListenersVerdictIsAFindingUnlessTheJobWentOn) {
  for (const int number : {0, 1, 2}) rank(number, {}, false);
  const std::string waits =
      R"({"line":"waits","certain":true,"different":true,"rank":2,"train_step":3,)"
      R"("unix_ns":1700000000000000000,"lines":["ranks 0 and 1 have waited","  rank 2 is late"]})"
      "\n";
  listener(waits);
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].evidence,
            "The listener concluded at 2023-11-14 22:13:20 UTC while the job ran: ranks 0 and 1 "
            "have waited; rank 2 is late.");
  listener(waits + R"({"line":"goes on","unix_ns":1700000001000000000})"
                   "\n");
  EXPECT_TRUE(findings().empty());
}

TEST_F(HungJob, ReportsADamagedListenersFileAndReadsTheRest) {
  for (const int number : {0, 1, 2}) rank(number, {}, false);
  listener("{\"line\":\"waits\"\n[1]\n");
  EXPECT_TRUE(findings().empty());
  EXPECT_TRUE(saysOfListener());
}

}  // namespace
}  // namespace ringscope::traces
