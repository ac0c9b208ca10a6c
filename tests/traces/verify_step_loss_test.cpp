// SPDX-License-Identifier: Apache-2.0
// Recorded calls of cross entropy, and verdicts about a loss that they establish or leave open.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/recorded_head.h"
#include "tests/support/trace_builder.h"
#include "tests/traces/called_losses_notes.h"
#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/recompute/loss.h"
#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/analysis/verify/step_check.h"

namespace ringscope::traces {
namespace {

using test::makeTrace;

using test::called;
using test::kForeign;
using test::lossesNote;

StepLoss lossOfTwoRanks(const CalledLoss& second) {
  return stepLoss(
      *makeTrace(kForeign + "run cp=2\ngroup cp 0,1\n" + lossesNote(0, {{called()}, {second}})), 0);
}

/// Returns the verdict about two ranks with two microbatches each, of 2 and 6 targets per rank.
Verdict ofMicrobatches(const char* rule, double first, double second) {
  std::vector<CalledLoss> own = {called(first, 2), called(second, 6)};
  own.back().microbatch = 1;
  return test::findVerdict(rule, kForeign + "run cp=2\ngroup cp 0,1\n" +
                                     "tensor q rank=0 layer=0 shape=1\n" +
                                     lossesNote(0, {own, own}));
}

TEST(TargetWeightsTest, MeansOfMicrobatchesAreNotTakenForThoseOfRanks) {
  const char* rule = "accumulation_mean_of_means";
  EXPECT_EQ(ofMicrobatches(rule, 1.0 / 8, 1.0 / 24), Verdict::kFound);
  EXPECT_NE(ofMicrobatches("mean_of_local_means", 1.0 / 8, 1.0 / 24), Verdict::kFound);
  EXPECT_EQ(ofMicrobatches(rule, 1.0 / 16, 1.0 / 16), Verdict::kClear);
  EXPECT_EQ(ofMicrobatches(rule, 1.0 / 16, 1.0 / 20), Verdict::kNotObservable);
}

TEST(StepLossTest, ARunOfThisProgramTrainsWithCrossEntropyAlone) {
  EXPECT_TRUE(stepLoss(*makeTrace("run cp=2\ngroup cp 0,1\n"), 0).isProductKnown());
}

TEST(StepLossTest, CallsThatExplainTheGradientEstablishTheLoss) {
  EXPECT_TRUE(lossOfTwoRanks(called()).isProductKnown());
  EXPECT_FALSE(stepLoss(*makeTrace(kForeign + "run cp=2\ngroup cp 0,1\n"), 0).isKnown());
}

TEST(StepLossTest, AnotherPartOfTheLogitsGradientLeavesTheLossOpen) {
  CalledLoss loss = called();
  loss.weights->off = 0.01;
  EXPECT_FALSE(lossOfTwoRanks(loss).isKnown());
  loss.dtype = "bfloat16";
  EXPECT_TRUE(lossOfTwoRanks(loss).isKnown()) << "rounding";
}

TEST(StepLossTest, CappedLogitsLeaveTheProductOpen) {
  CalledLoss loss = called();
  loss.between = {"Mul"};
  EXPECT_TRUE(lossOfTwoRanks(loss).isProductKnown());
  loss.between = {"Mul", "Tanh", "Div"};
  EXPECT_TRUE(lossOfTwoRanks(loss).isKnown());
  EXPECT_FALSE(lossOfTwoRanks(loss).isProductKnown());
}

/// Returns a gradient that is neither right nor a known mistake's, with these recorded calls.
std::string oddGradient(const std::string& calls) {
  test::Head head;
  head.factors = {1.7, -0.4};
  head.run = kForeign + "run cp=2\n" + calls;
  return head.text();
}

TEST(StepLossTest, AnUnexplainedGradientIsNoMistakeOfAnOpenLoss) {
  const auto trace = makeTrace(oddGradient(""));
  const StepCheck check = checkStep(*trace, 1);
  EXPECT_TRUE(check.gradient.differs());
  EXPECT_FALSE(check.gradient.isWrong());
  EXPECT_NE(toText(check).find("– gradient of lm_head.weight"), std::string::npos) << toText(check);
  EXPECT_TRUE(diagnose(*trace).findings().empty());
}

TEST(StepLossTest, AnUnexplainedGradientOfAKnownLossIsWrong) {
  const auto trace = makeTrace(oddGradient(lossesNote(1, {{called()}, {called()}})));
  EXPECT_TRUE(checkStep(*trace, 1).gradient.isWrong());
  ASSERT_FALSE(diagnose(*trace).findings().empty());
  EXPECT_EQ(diagnose(*trace).findings().front().rule, "unknown_mistake");
}

TEST(StepLossTest, SmoothedLabelsAreComparedWithTheSmoothedLoss) {
  const double smoothing = 0.2, log_two = std::log(2.0);
  const std::vector<double> logits = {1, 0}, labels = {0};
  const double plain = crossEntropySum(logits, labels, 2, 0).sum;
  EXPECT_NEAR(crossEntropySum(logits, labels, 2, 0, smoothing).sum, plain + smoothing / 2, 1e-12);
  EXPECT_NEAR(crossEntropySum({{7, 7}}, labels, 2, 0, smoothing).sum, log_two, 1e-12);
}

TEST(TargetWeightsTest, AWeightByTheRanksOwnCountIsAMeanOfMeans) {
  const std::string job = kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n";
  const auto verdict = [&](const CalledLoss& first, const CalledLoss& second) {
    return test::findVerdict("mean_of_local_means", job + lossesNote(0, {{first}, {second}}));
  };
  EXPECT_EQ(verdict(called(0.5, 2), called(0.125, 8)), Verdict::kFound);
  EXPECT_EQ(verdict(called(0.1, 2), called(0.1, 8)), Verdict::kClear);
  EXPECT_EQ(verdict(called(0.5, 2), called(0.3, 8)), Verdict::kNotObservable);
}

TEST(TargetWeightsTest, AWeightByTheMicrobatchsCountIsAMeanOfMeans) {
  const std::string job = kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n";
  CalledLoss later = called(0.05, 10);
  later.microbatch = 1;
  const std::vector<CalledLoss> rank = {called(0.25, 2), later};
  const auto found =
      test::answerFrom("accumulation_mean_of_means", job + lossesNote(0, {rank, rank}));
  ASSERT_EQ(found.verdict, Verdict::kFound) << found.would_settle;
  EXPECT_EQ(found.findings.front().confidence, Confidence::kLikely);
  EXPECT_EQ(found.findings.front().title, "The loss is a mean of the means of microbatches");
}

/// Returns the answer about chunks of 4 tokens with these numbers of targets. A target weighs one
/// by the number of its chunk, or by the number of all.
RuleResult ofChunks(const std::vector<std::int64_t>& targets, bool by_chunk, int batch = 1) {
  std::vector<std::vector<CalledLoss>> ranks(2);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    CalledLoss loss = called(by_chunk ? 1.0 / static_cast<double>(targets[i]) : 0.1, targets[i]);
    loss.tokens = 4;
    ranks[i % 2].push_back(loss);
  }
  const std::string shape = std::to_string(batch) + "x" + std::to_string(8 / batch);
  return test::answerFrom("accumulation_mean_of_means",
                          kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n" +
                              "shard input_ids rank=0 tokens=0-8 local=" + shape +
                              "\nshard input_ids rank=1 tokens=8-16 local=" + shape + "\n" +
                              lossesNote(0, ranks));
}

TEST(TargetWeightsTest, AWeightByTheChunksCountIsAMeanOfMeans) {
  const RuleResult found = ofChunks({1, 4, 3, 4}, true);
  ASSERT_EQ(found.verdict, Verdict::kFound) << found.would_settle;
  EXPECT_EQ(found.findings.front().title, "The loss is a mean of the means of chunks");
  EXPECT_EQ(ofChunks({1, 4, 3, 4}, false).verdict, Verdict::kClear);
  EXPECT_NE(ofChunks({1, 4, 3, 4}, true, 2).verdict, Verdict::kFound)
      << "entries of a batch may be meant to have means of their own";
}

/// Returns the answer about two sequences. Rank 0 has `first` targets of each, with this weight;
/// rank 1 has `second` with the other weight.
RuleResult ofSequence(std::int64_t first, double weight, std::int64_t second, double other) {
  const auto picked = [](std::int64_t targets, double one) {
    CalledLoss loss = called(0.1, 2 * targets);
    loss.picked = true;
    loss.weights = CalledLoss::Weights{-one, one, 0.01, 1e-8};
    loss.entries = {{targets, one, one}, {targets, -one, -one}};
    return std::vector{loss};
  };
  return test::answerFrom("mean_of_local_means",
                          kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n" +
                              lossesNote(0, {picked(first, weight), picked(second, other)}));
}

TEST(TargetWeightsTest, TokensOfOneSequenceWeighTheSameOnItsRanks) {
  EXPECT_NE(ofSequence(2, 0.3, 6, 0.3).verdict, Verdict::kFound);
  const RuleResult means = ofSequence(2, 0.3, 6, 0.1), sums = ofSequence(4, 0.3, 4, 0.2);
  ASSERT_EQ(means.verdict, Verdict::kFound);
  EXPECT_EQ(means.findings.front().title, "The loss is a mean of the ranks' own means");
  ASSERT_EQ(sums.verdict, Verdict::kFound);
  EXPECT_EQ(sums.findings.front().title, "The tokens of one sequence weigh otherwise on each rank");
}

TEST(CalledLossTest, EntriesAreKept) {
  CalledLoss loss = called();
  loss.picked = true;
  loss.entries = {{3, 0.5, 0.75}};
  const auto read =
      calledLosses(*makeTrace(kForeign + lossesNote(0, {{loss}})), 0, WorldRank::of(0));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_TRUE(read.front().picked);
  ASSERT_EQ(read.front().entries.size(), 1u);
  EXPECT_EQ(read.front().entries.front().targets, 3);
  EXPECT_EQ(read.front().entries.front().most, 0.75);
}

}  // namespace
}  // namespace ringscope::traces
