// SPDX-License-Identifier: Apache-2.0
// An error that no rule names but a verdict reveals: where it begins, what is right before it, and
// what to do next.
#include "traces/analysis/doctor/unknown_mistake.h"

#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/readings.h"

namespace ringscope::traces {
namespace {

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

Finding unknownIn(const std::string& text) {
  const auto finding = unknownMistake(Readings(*test::makeTrace("run cp=2 seq_len=4\n" + text)));
  if (!finding) ADD_FAILURE() << "nothing found in\n" << text;
  return finding.value_or(Finding());
}

TEST(UnknownMistakeTest, NamesTheFirstTensorThatIsWrongByItself) {
  const Finding finding = unknownIn(
      "diff out layer=0 ratio=0.5\n"
      "diff lse layer=0 ratio=0.2\n"
      "diff lse layer=1 ratio=7\n"
      "diff out layer=1 ratio=40 error=0.25\n"
      "diff dk layer=1 ratio=90\n"
      "diff q layer=1 isolated=no ratio=3\n");
  EXPECT_EQ(finding.buffer, "out");
  EXPECT_EQ(finding.place.layer, Layer::of(1));
  EXPECT_EQ(finding.place.direction, Direction::kForward);
  EXPECT_EQ(finding.confidence, Confidence::kCertain);
  EXPECT_TRUE(has(finding.title, "layer 1, out is wrong by itself")) << finding.title;
  EXPECT_TRUE(has(finding.evidence, "is off by 0.25, 40× what rounding explains"))
      << finding.evidence;
  EXPECT_TRUE(has(finding.evidence,
                  "All 2 comparisons before it are within rounding, the last of "
                  "layer 0, lse."))
      << finding.evidence;
  EXPECT_TRUE(has(finding.remedy, "--capture full")) << finding.remedy;
}

TEST(UnknownMistakeTest, TheEarliestTrainingStepCountsBeforeAnything) {
  const Finding finding = unknownIn(
      "diff out layer=0 step=2 ratio=9\n"
      "diff grad_norm step=1 direction=backward isolated=no ratio=1.5\n");
  EXPECT_EQ(finding.buffer, "grad_norm");
  EXPECT_EQ(finding.place.train_step, 1);
  EXPECT_EQ(finding.confidence, Confidence::kLikely)
      << "rounding may reach a limit once in a long while";
}

TEST(UnknownMistakeTest, LooksBeforeAttentionWhenAttentionIsRight) {
  const Finding first = unknownIn(
      "diff out layer=0 ratio=0.5\n"
      "diff q layer=0 isolated=no ratio=12\n");
  EXPECT_TRUE(has(first.title, "layer 0, q is the first that is wrong")) << first.title;
  EXPECT_TRUE(has(first.evidence, "No attention of this step is wrong by itself"))
      << first.evidence;
  EXPECT_TRUE(has(first.remedy, "embedding")) << first.remedy;
  const Finding later = unknownIn("diff k layer=3 isolated=no ratio=12\n");
  EXPECT_TRUE(has(later.remedy, "the attention of the layer before")) << later.remedy;
  EXPECT_FALSE(has(later.evidence, "wrong by itself")) << "none was compared by itself";
}

TEST(UnknownMistakeTest, NamesTheRowAndTheRank) {
  auto trace = test::makeTrace("run cp=2 seq_len=4\n");
  DiffRecord diff;
  diff.tensor = "dv";
  diff.place = {0, Layer::of(0), Direction::kBackward, {}};
  diff.ratio = std::nan("");
  diff.worst_index = {0, 3, 1};
  diff.rows = {{1, 4, 4}, 1, std::vector<std::uint8_t>(16)};
  diff.ratio_by_rank = {0.1, 8};
  trace->add(diff);
  const auto finding = unknownMistake(Readings(*trace));
  ASSERT_TRUE(finding);
  EXPECT_TRUE(has(finding->evidence, "sequence 0, head 3, token 1, of cp rank 1"))
      << finding->evidence;
  EXPECT_EQ(finding->rank, WorldRank::of(1));
  EXPECT_EQ(finding->confidence, Confidence::kCertain) << "what is no number is within no limit";
}

TEST(UnknownMistakeTest, NamesWrongRowsAsRanges) {
  auto trace = test::makeTrace("run cp=2 seq_len=8\n");
  DiffRecord diff;
  diff.tensor = "out";
  diff.place = {0, Layer::of(0), Direction::kForward, {}};
  diff.ratio = 9;
  diff.rows = {{1, 4, 8}, 1, std::vector<std::uint8_t>(32)};
  for (const int row : {8 + 1, 8 + 2, 8 + 3, 16 + 2, 16 + 7})
    diff.rows.codes[static_cast<std::size_t>(row)] = RowRatios::encode(9);
  trace->add(diff);
  const auto finding = unknownMistake(Readings(*trace));
  ASSERT_TRUE(finding);
  EXPECT_TRUE(has(finding->evidence, "5 of 32 rows are wrong: heads 1–2, tokens 1–3, 7."))
      << finding->evidence;
}

TEST(UnknownMistakeTest, NamesTheRangeOfRowsThatShareACode) {
  auto trace = test::makeTrace("run cp=2 seq_len=8\n");
  DiffRecord diff;
  diff.tensor = "out";
  diff.place = {0, Layer::of(0), Direction::kForward, {}};
  diff.ratio = 9;
  diff.rows = {{1, 4, 8}, 4, std::vector<std::uint8_t>(8)};
  diff.rows.codes[3] = RowRatios::encode(9);
  trace->add(diff);
  const auto finding = unknownMistake(Readings(*trace));
  ASSERT_TRUE(finding);
  EXPECT_TRUE(has(finding->evidence, "The wrong rows are among 4 of 32 rows: head 1, tokens 4–7."))
      << finding->evidence;
}

TEST(UnknownMistakeTest, AGradientNamesNoTokensOfARank) {
  auto trace = test::makeTrace("run cp=2 seq_len=4\n");
  DiffRecord diff;
  diff.isolated = false;
  diff.tensor = "grad.lm_head.weight";
  diff.place = {0, Layer::none(), Direction::kBackward, {}};
  diff.ratio = 5;
  diff.worst_index = {7};
  diff.rows = {{8}, 1, std::vector<std::uint8_t>(8)};
  diff.ratio_by_rank = {5, 5};
  trace->add(diff);
  const auto finding = unknownMistake(Readings(*trace));
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->rank.isNone());
  EXPECT_TRUE(has(finding->evidence, "its worst entry (7) is off")) << finding->evidence;
}

TEST(UnknownMistakeTest, GivesNoFindingWithinLimitsOrWithoutVerdicts) {
  EXPECT_FALSE(
      unknownMistake(Readings(*test::makeTrace("run cp=2 seq_len=4\ndiff out layer=0 ratio=1\n"))));
  EXPECT_FALSE(unknownMistake(Readings(*test::makeTrace("run cp=2 seq_len=4\n"))));
}

TEST(UnknownMistakeTest, IsAFindingOfTheDiagnosisAndNotClear) {
  const Diagnosis diagnosis =
      diagnose(*test::makeTrace("run cp=2 seq_len=4\ndiff out layer=0 ratio=5\nend\n"));
  ASSERT_EQ(diagnosis.findings().size(), 1u);
  EXPECT_EQ(diagnosis.findings().front().rule, kUnknownMistake);
  EXPECT_EQ(headline(diagnosis), "▲ One finding");
  EXPECT_FALSE(isClear(diagnosis));
}

TEST(UnknownMistakeTest, FindsTheRankBySequenceHeadAndTokenTogether) {
  const auto rank_of = [](std::int64_t sequence, std::vector<int> wrong_heads) {
    auto trace = test::makeTrace(
        "run dp=2 tp=2 cp=2\ngroup dp 0,4\ngroup dp 1,5\ngroup dp 2,6\ngroup dp 3,7\n"
        "group tp 0,2\ngroup tp 1,3\ngroup tp 4,6\ngroup tp 5,7\n"
        "group cp 0,1\ngroup cp 2,3\ngroup cp 4,5\ngroup cp 6,7\n");
    DiffRecord diff;
    diff.isolated = false;
    diff.tensor = "q";
    diff.place = {0, Layer::of(0), Direction::kForward, {}};
    diff.ratio = 8;
    diff.rows = {{2, 4, 1}, 1, std::vector<std::uint8_t>(8)};
    for (const int head : wrong_heads)
      diff.rows.codes[static_cast<std::size_t>(sequence * 4 + head)] = 200;
    diff.worst_index = {sequence, wrong_heads.front(), 0};
    diff.ratio_by_rank = {0.1, 8};
    trace->add(diff);
    const auto finding = unknownMistake(Readings(*trace));
    return finding ? finding->rank : WorldRank::none();
  };
  EXPECT_EQ(rank_of(0, {0, 1}), WorldRank::of(1));
  EXPECT_EQ(rank_of(0, {3}), WorldRank::of(3));
  EXPECT_EQ(rank_of(1, {2, 3}), WorldRank::of(7));
  EXPECT_EQ(rank_of(1, {1, 2}), WorldRank::none()) << "of both tp ranks";
}

TEST(UnknownMistakeTest, WeightsThatDriftApartAreOfTheRankThatIsUnlikeTheOthers) {
  const std::string same = "tensor grad.w rank=0 hash=1\ntensor grad.w rank=1 hash=1\n",
                    drift = "tensor weight.w rank=0 hash=4\ntensor weight.w rank=1 hash=5\n";
  const auto of_three =
      unknownMistake(Readings(*test::makeTrace("run cp=3\n" + same + drift +
                                               "tensor weight.w rank=2 hash=4\n"
                                               "diff logits step=1 isolated=no ratio=9\n")));
  ASSERT_TRUE(of_three);
  EXPECT_EQ(of_three->rank, WorldRank::of(1));
  EXPECT_EQ(of_three->place.train_step, 0) << "before what it makes wrong";
  EXPECT_TRUE(has(of_three->evidence, "rank 1 is unlike most in w")) << of_three->evidence;
  EXPECT_TRUE(has(of_three->evidence, "The gradients after the sync are the same"));
  const Finding of_two = unknownIn(same + drift);
  EXPECT_TRUE(of_two.rank.isNone()) << "either may be the wrong one";
  EXPECT_FALSE(unknownMistake(Readings(*test::makeTrace("run cp=2\n" + same))));
  EXPECT_FALSE(unknownMistake(Readings(*test::makeTrace("run command=import dp=2 cp=1\n" + drift))))
      << "ranks of an imported job without groups may hold parts";
}

}  // namespace
}  // namespace ringscope::traces
