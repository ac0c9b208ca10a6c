// SPDX-License-Identifier: Apache-2.0
// The rules about a block's lse and about the running result. Each is tested in a recording in
// which it finds a mistake, in one in which it is clear, and in one in which it cannot tell.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;

/// Two ranks with a token each and heads of width 1. A row of a block has one key, so its lse is
/// q·k.
constexpr const char* kRows = R"(
  run cp=2 mask=full seq_len=2
  group cp 0,1
  shard q rank=0 dim=2 tokens=0-1
  shard q rank=1 dim=2 tokens=1-2
  tensor q rank=0 layer=0 shape=1x1x1x1 values=2
  tensor q rank=1 layer=0 shape=1x1x1x1 values=3
  tensor k rank=0 layer=0 shape=1x1x1x1 values=1
  tensor k rank=1 layer=0 shape=1x1x1x1 values=2
  tensor v rank=0 layer=0 shape=1x1x1x1 values=1
  tensor v rank=1 layer=0 shape=1x1x1x1 values=1
  attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-1 k=0-1
  attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-1 k=0-1
  attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-1 k=0-1
  attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-1 k=0-1
)";

std::string blockLse(int rank, int stage, double value) {
  return "tensor block_lse rank=" + std::to_string(rank) +
         " layer=0 stage=" + std::to_string(stage) +
         " source=" + std::to_string(stage == 0 ? rank : 1 - rank) +
         " piece=0 shape=1x1x1 values=" + std::to_string(value) + "\n";
}
/// Returns every block's lse times a factor.
std::string withLse(double factor) {
  return kRows + blockLse(0, 0, 2 * factor) + blockLse(0, 1, 4 * factor) +
         blockLse(1, 0, 6 * factor) + blockLse(1, 1, 3 * factor) + "end\n";
}

TEST(LseBase2RuleTest, TellsALogarithmToBase2FromTheNaturalOne) {
  const auto wrong = answerFrom("lse_base2", withLse(1.4426950408889634));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(0));
  EXPECT_NE(wrong.findings.front().evidence.find("Over 2 rows"), std::string::npos)
      << wrong.findings.front().evidence;
  EXPECT_EQ(findVerdict("lse_base2", withLse(1)), Verdict::kClear);
}

TEST(LseBase2RuleTest, ScoresOfAnotherScaleProveNothing) {
  const auto other = answerFrom("lse_base2", withLse(2));
  ASSERT_EQ(other.verdict, Verdict::kNotObservable);
  EXPECT_NE(other.would_settle.find("by either logarithm"), std::string::npos)
      << other.would_settle;
}

TEST(LseBase2RuleTest, SumsThatAreTooSmallToTellTheLogarithmsApartProveNothing) {
  std::string text = kRows;
  for (const char* q : {"values=2", "values=3"}) text.replace(text.find(q), 8, "values=.01");
  const double base2 = 1.4426950408889634;
  EXPECT_EQ(findVerdict("lse_base2", text + blockLse(0, 0, 0.01 * base2) +
                                         blockLse(1, 0, 0.02 * base2) + "end\n"),
            Verdict::kNotObservable);
}

TEST(LseBase2RuleTest, OneRowMayBeSoByChance) {
  const auto few = answerFrom("lse_base2", kRows + blockLse(0, 0, 2 * 1.4426950409) + "end\n");
  ASSERT_EQ(few.verdict, Verdict::kNotObservable);
  EXPECT_NE(few.would_settle.find("needs more rows"), std::string::npos) << few.would_settle;
}

TEST(LseBase2RuleTest, BlocksOfOtherRanksAreNoEvidence) {
  EXPECT_EQ(findVerdict("lse_base2", kRows + blockLse(0, 0, 2) + blockLse(0, 1, 2 * 1.4426950409) +
                                         blockLse(1, 0, 6) + blockLse(1, 1, 6) + "end\n"),
            Verdict::kClear)
      << "another block may have come than was meant";
}

TEST(LseBase2RuleTest, WithoutBlocksItCannotTell) {
  EXPECT_EQ(findVerdict("lse_base2", kRows), Verdict::kNotObservable);
}

std::string runningLse(int stage, const std::string& what) {
  return "tensor running_lse rank=1 layer=0 stage=" + std::to_string(stage) +
         " source=" + std::to_string(stage) + " shape=1x1x4 " + what + "\n";
}

TEST(LseLowPrecisionRuleTest, FindsValuesThatAllFitIntoBfloat16) {
  const std::string rounded =
      runningLse(0, "values=1.5,2.25,-3.125,-inf") + runningLse(1, "values=1.75,2.5,-3.125,4.0625");
  const auto wrong = answerFrom("lse_low_precision", rounded);
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(1));
  EXPECT_NE(wrong.findings.front().evidence.find("after 2 blocks"), std::string::npos)
      << wrong.findings.front().evidence;
  EXPECT_EQ(findVerdict("lse_low_precision", rounded + runningLse(2, "values=1.1,2.5,3,4")),
            Verdict::kClear)
      << "1.1 has more bits than bfloat16";
}

TEST(LseLowPrecisionRuleTest, FewValuesOrNoneProveNothing) {
  EXPECT_EQ(findVerdict("lse_low_precision", runningLse(0, "values=1.5,1.5,1.5,0")),
            Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("lse_low_precision", runningLse(0, "hash=7")), Verdict::kNotObservable);
}

std::string blocksOfRankOne(const std::string& first, const std::string& second) {
  const auto block = [](int stage, const std::string& what) {
    return "tensor block_lse rank=1 layer=0 stage=" + std::to_string(stage) +
           " source=" + std::to_string(stage) + " piece=0 shape=1x1x4 " + what + "\n";
  };
  return block(0, first) + block(1, second);
}

TEST(LseOverflowRuleTest, FiniteBlocksMakeNoInfinity) {
  const char* rule = "lse_overflow";
  const std::string wide = blocksOfRankOne("values=90,1,2,3", "values=2,1,2,3"),
                    first = runningLse(0, "values=90,1,2,3");
  EXPECT_EQ(findVerdict(rule, wide + first + runningLse(1, "values=90,2,3,4")), Verdict::kClear);
  for (const char* made : {"values=inf,2,3,4", "values=nan,2,3,4"}) {
    const auto wrong = answerFrom(rule, wide + first + runningLse(1, made));
    ASSERT_EQ(wrong.verdict, Verdict::kFound) << made;
    EXPECT_EQ(wrong.findings.front().confidence, Confidence::kCertain);
    EXPECT_EQ(wrong.findings.front().place.stage, RingStep::of(1));
  }
  const std::string small = blocksOfRankOne("values=-110,1,2,3", "values=-120,1,2,3");
  EXPECT_EQ(findVerdict(rule, small + runningLse(1, "values=-inf,2,3,4")), Verdict::kFound)
      << "a row with keys is lost";
  const std::string part = small +
                           "tensor block_lse rank=1 layer=0 stage=2 source=2 piece=0 "
                           "shape=1x1x2 values=-130,5\n"
                           "attend rank=1 layer=0 stage=2 source=2 piece=0 q=2-4 k=0-2\n";
  EXPECT_EQ(findVerdict(rule, part + runningLse(2, "values=1,2,-inf,5")), Verdict::kFound);
  EXPECT_EQ(findVerdict(rule, part + runningLse(2, "values=1,2,3,5")), Verdict::kClear);
}

/// Returns two blocks that arrived at one ring step; rank 1 attends its own block first.
std::string gathered(const std::string& own_running, const std::string& running) {
  const auto tensor = [](const char* name, int source, const std::string& values) {
    return std::string("tensor ") + name +
           " rank=1 layer=0 stage=0 source=" + std::to_string(source) +
           " shape=1x1x2 values=" + values + "\n";
  };
  return tensor("block_lse piece=0", 1, "-inf,1") + tensor("running_lse", 1, own_running) +
         tensor("block_lse piece=0", 0, "7,2") + tensor("running_lse", 0, running) +
         "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 time=10-20\n"
         "attend rank=1 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 time=30-40\n";
}

TEST(LseOverflowRuleTest, LaterGatheredBlocksAreNotMergedYet) {
  const char* rule = "lse_overflow";
  EXPECT_EQ(findVerdict(rule, gathered("-inf,1", "7,2.3")), Verdict::kClear);
  const auto lost = answerFrom(rule, gathered("-inf,1", "-inf,2.3"));
  ASSERT_EQ(lost.verdict, Verdict::kFound);
  EXPECT_TRUE(test::says(lost.findings.front(), "from 1 to 7")) << lost.findings.front().evidence;
  const auto early = answerFrom(rule, gathered("nan,1", "7,2.3"));
  ASSERT_EQ(early.verdict, Verdict::kFound);
  EXPECT_TRUE(test::says(early.findings.front(), "from 1 to 1")) << early.findings.front().evidence;
}

TEST(LseOverflowRuleTest, ADoubleOverflowsLater) {
  const std::string blocks = blocksOfRankOne("values=-inf,1,2,300", "values=1,1,2,3");
  const auto of_rows = answerFrom("lse_overflow", blocks + runningLse(1, "values=nan,1,3,300"));
  ASSERT_EQ(of_rows.verdict, Verdict::kFound);
  EXPECT_EQ(of_rows.findings.front().confidence, Confidence::kLikely)
      << "300 is not too large for it";
  const auto wide =
      answerFrom("lse_overflow", blocksOfRankOne("values=710,1,2,3", "values=1,1,2,3") +
                                     runningLse(1, "values=inf,1,3,4"));
  ASSERT_EQ(wide.verdict, Verdict::kFound);
  EXPECT_TRUE(test::says(wide.findings.front(), "exp of a double is infinite above 709"));
}

TEST(LseOverflowRuleTest, NansFromAMergeAreNotBlamedOnARank) {
  const std::string merged =
      blocksOfRankOne("values=90,1,2,3", "values=2,1,2,3") + runningLse(1, "values=inf,2,3,4");
  const std::string out = "tensor out rank=1 layer=0 nan=1\n";
  const auto findings = diagnose(*test::makeTrace(merged + out)).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().rule, "lse_overflow");
  EXPECT_EQ(findVerdict("nan_from_one_rank", out), Verdict::kFound);
  EXPECT_EQ(findVerdict("nan_from_one_rank", merged + "tensor out step=1 layer=0 nan=1\n"),
            Verdict::kNotObservable);
  EXPECT_EQ(
      findVerdict("nan_from_one_rank", blocksOfRankOne("values=90,1,2,3", "values=nan,1,2,3") +
                                           runningLse(1, "values=nan,2,3,4")),
      Verdict::kFound)
      << "a block had it already";
}

TEST(LseOverflowRuleTest, RowsWithoutKeysStayInfinite) {
  const char* rule = "lse_overflow";
  const std::string blocks = blocksOfRankOne("values=-inf,-inf,2,3", "values=-inf,1,2,3");
  EXPECT_EQ(findVerdict(rule, blocks + runningLse(1, "values=-inf,1,3,4")), Verdict::kClear);
  const auto wrong = answerFrom(rule, blocks + runningLse(1, "values=nan,1,3,4"));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kLikely);
}

TEST(LseOverflowRuleTest, RowsWithoutKeysMayMakeNanOfOutAlone) {
  const auto merged = [](const char* first_lse, const char* block_out, const char* of_other = "") {
    return std::string(
               "run cp=2\ngroup cp 0,1\ntensor block_out rank=0 layer=0 stage=0 source=0 "
               "piece=0 ") +
           of_other + "\n" + blocksOfRankOne(first_lse, "values=3,1,2,3") +
           runningLse(0, first_lse) + runningLse(1, "values=3,1.3,2.7,3.7") +
           "tensor block_out rank=1 layer=0 stage=0 source=0 piece=0 " + block_out +
           "\ntensor block_out rank=1 layer=0 stage=1 source=1 piece=0\n"
           "tensor out rank=1 layer=0 nan=8\n";
  };
  const std::string without_key = merged("values=-inf,1,2,3", "");
  const auto wrong = answerFrom("lse_overflow", without_key);
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().buffer, "out");
  EXPECT_TRUE(test::says(wrong.findings.front(), "out is NaN, though every block_out is finite"));
  EXPECT_EQ(findVerdict("nan_from_one_rank", without_key), Verdict::kNotObservable);
  for (const auto& from_a_block :
       {merged("values=-inf,1,2,3", "nan=1"), merged("values=-inf,1,2,3", "", "nan=1")})
    EXPECT_EQ(findVerdict("lse_overflow", from_a_block), Verdict::kClear)
        << "a block had it already, of this rank or of one that shares its heads";
  EXPECT_EQ(findVerdict("nan_from_one_rank", merged("values=1,1,2,3", "")), Verdict::kFound)
      << "every row has a key, so something else made it";
}

TEST(LseOverflowRuleTest, AnErrorInABlockIsNotBlamedOnTheMerge) {
  const char* rule = "lse_overflow";
  for (const char* block : {"values=nan,1,2,3", "values=inf,1,2,3"})
    EXPECT_EQ(findVerdict(rule, blocksOfRankOne(block, "values=2,1,2,3") +
                                    runningLse(1, "values=nan,2,3,4")),
              Verdict::kNotObservable)
        << block;
}

TEST(LseOverflowRuleTest, StatisticsTellOfFiniteNumbersAlone) {
  const char* rule = "lse_overflow";
  const std::string blocks = blocksOfRankOne("min=1 max=3", "min=1 max=3");
  EXPECT_EQ(findVerdict(rule, blocks + runningLse(1, "min=1 max=4")), Verdict::kClear);
  EXPECT_EQ(findVerdict(rule, blocks + runningLse(1, "nan=2")), Verdict::kFound);
  EXPECT_EQ(findVerdict(rule, blocks + runningLse(1, "inf=2")), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict(rule, "run cp=2\n"), Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
