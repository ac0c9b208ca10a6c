// SPDX-License-Identifier: Apache-2.0
// Recorded calls of cross entropy, and verdicts about a loss that they establish or leave open.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/recorded_head.h"
#include "tests/support/trace_builder.h"
#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/recompute/loss.h"
#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/analysis/verify/step_check.h"

namespace ringscope::traces {
namespace {

using test::makeTrace;

const std::string kForeign = "note framework \"pytorch\"\n";

/// Returns a call of cross entropy whose targets weigh this much.
CalledLoss called(double weight = 0.25, std::int64_t targets = 4) {
  CalledLoss loss;
  loss.targets = targets;
  loss.smoothing = 0;
  loss.weights = CalledLoss::Weights{weight, weight, weight, 1e-8};
  loss.parameter = "lm_head.weight";
  loss.dtype = "float32";
  return loss;
}

std::string noteOf(int step, const std::vector<std::vector<CalledLoss>>& ranks) {
  nlohmann::json note = nlohmann::json::object();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const CalledLoss& loss : ranks[rank]) note[std::to_string(rank)].push_back(toJson(loss));
  return "note " + calledLossesKey(step) + " " + note.dump() + "\n";
}

StepLoss lossOfTwoRanks(const CalledLoss& second) {
  return stepLoss(
      *makeTrace(kForeign + "run cp=2\ngroup cp 0,1\n" + noteOf(0, {{called()}, {second}})), 0);
}

/// Returns the verdict about two ranks with two microbatches each, of 2 and 6 targets per rank.
Verdict ofMicrobatches(const char* rule, double first, double second) {
  std::vector<CalledLoss> own = {called(first, 2), called(second, 6)};
  own.back().microbatch = 1;
  return test::findVerdict(rule, kForeign + "run cp=2\ngroup cp 0,1\n" +
                                     "tensor q rank=0 layer=0 shape=1\n" + noteOf(0, {own, own}));
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
  const auto trace = makeTrace(oddGradient(noteOf(1, {{called()}, {called()}})));
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
    return test::findVerdict("mean_of_local_means", job + noteOf(0, {{first}, {second}}));
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
  const auto found = test::answerFrom("accumulation_mean_of_means", job + noteOf(0, {rank, rank}));
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
                              noteOf(0, ranks));
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
                              noteOf(0, {picked(first, weight), picked(second, other)}));
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
  const auto read = calledLosses(*makeTrace(kForeign + noteOf(0, {{loss}})), 0, WorldRank::of(0));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_TRUE(read.front().picked);
  ASSERT_EQ(read.front().entries.size(), 1u);
  EXPECT_EQ(read.front().entries.front().targets, 3);
  EXPECT_EQ(read.front().entries.front().most, 0.75);
}

/// Returns the calls of two ranks with 10 targets. A target weighs `weight`, and the optimizer is
/// given `sync` times the sum of what the logits give.
std::string scaledCalls(double weight, double sync, std::int32_t microbatches = 1) {
  std::vector<std::vector<CalledLoss>> ranks(2);
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (std::int32_t microbatch = 0; microbatch < microbatches; ++microbatch) {
      CalledLoss loss = called(weight, rank == 0 ? 2 : 8);
      loss.microbatch = microbatch;
      loss.tokens = 16;
      loss.product = rank == 0 ? 0.75 : 0.25;
      loss.head_product = sync * microbatches;
      ranks[rank].push_back(loss);
    }
  return kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n" + noteOf(0, ranks);
}

Verdict scaledVerdict(const char* rule, const std::string& trace) {
  return test::findVerdict(rule, trace);
}

TEST(TargetScaleTest, ALossTimesCpIsFoundWithoutALoggedLoss) {
  for (const double scale : {2.0, 0.5}) {
    const std::string job = scaledCalls(0.1 * scale, 1);
    const auto answer = test::answerFrom("loss_scaled_by_cp", job);
    ASSERT_EQ(answer.verdict, Verdict::kFound);
    EXPECT_EQ(answer.findings.front().confidence, Confidence::kLikely);
    EXPECT_EQ(scaledVerdict("grad_scaled_by_cp", job), Verdict::kNotObservable);
  }
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", scaledCalls(0.1, 1)), Verdict::kClear);
}

TEST(TargetScaleTest, GradientsThatAreAveragedAreFoundByTheirProduct) {
  EXPECT_EQ(scaledVerdict("grad_scaled_by_cp", scaledCalls(0.1, 0.5)), Verdict::kFound);
  EXPECT_EQ(scaledVerdict("grad_scaled_by_cp", scaledCalls(0.2, 0.5)), Verdict::kClear)
      << "a loss times cp whose gradients are averaged";
  EXPECT_EQ(scaledVerdict("grad_scaled_by_cp", scaledCalls(1, 0.1)), Verdict::kClear)
      << "a sum whose gradients are divided by the number of targets";
}

TEST(TargetScaleTest, AnotherChoiceOfTheDivisorIsNoMistake) {
  const auto is_silent = [](const std::string& job) {
    return scaledVerdict("loss_scaled_by_cp", job) == Verdict::kNotObservable &&
           scaledVerdict("grad_scaled_by_cp", job) == Verdict::kNotObservable;
  };
  EXPECT_TRUE(is_silent(scaledCalls(1.0 / 32, 1))) << "a mean over all tokens";
  EXPECT_TRUE(is_silent(scaledCalls(0.1, 1, 2))) << "a sum of two microbatches' means";
  EXPECT_TRUE(is_silent(scaledCalls(1, 1))) << "a sum";
}

/// Returns the calls of cp 2 × tp 2 ranks. The second rank of a tp group has `second` times the
/// product of the first.
std::string callsOfTp(double sync, double second = 1) {
  std::vector<std::vector<CalledLoss>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    CalledLoss loss = called(0.1, rank < 2 ? 2 : 8);
    loss.tokens = 16;
    loss.product = (rank < 2 ? 0.75 : 0.25) * (rank % 2 == 0 ? 1 : second);
    loss.head_product = sync;
    ranks.push_back({loss});
  }
  return kForeign +
         "run cp=2 tp=2\ngroup cp 0,2\ngroup cp 1,3\ngroup tp 0,1\ngroup tp 2,3\n"
         "tensor logits rank=0\n" +
         noteOf(0, ranks);
}

TEST(TargetScaleTest, SumsOverTpRanksWithEqualLogitsAreFound) {
  const auto twice = test::answerFrom("grad_scaled_by_cp", callsOfTp(2));
  ASSERT_EQ(twice.verdict, Verdict::kFound);
  EXPECT_NE(twice.findings.front().remedy.find("do not sum over tp"), std::string::npos);
  EXPECT_EQ(scaledVerdict("grad_scaled_by_cp", callsOfTp(1)), Verdict::kClear);
  EXPECT_EQ(scaledVerdict("grad_scaled_by_cp", callsOfTp(2, 0.5)), Verdict::kNotObservable)
      << "logits of which each tp rank has a part";
}

TEST(TargetScaleTest, AGradientWithoutAProductTellsNoScale) {
  CalledLoss loss = called(0.2, 5);
  const std::string job = kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n";
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", job + noteOf(0, {{loss}, {loss}})),
            Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
