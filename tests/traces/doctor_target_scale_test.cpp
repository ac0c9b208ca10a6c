// SPDX-License-Identifier: Apache-2.0
// The scale of the loss and of its gradients, by what one target weighs.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "tests/traces/called_losses_notes.h"
#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::called;
using test::kForeign;
using test::lossesNote;

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
  return kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n" + lossesNote(0, ranks);
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

/// Returns calls like those of scaledCalls() whose output projection embeds tokens too. Another
/// parameter's gradient is `local` on each rank.
std::string tiedCalls(double weight, double sync, const std::vector<double>& local) {
  std::vector<std::vector<CalledLoss>> ranks(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CalledLoss loss = called(weight, rank == 0 ? 2 : 8);
    loss.tied = true;
    loss.product = loss.head_product = 7;
    loss.local_gradient = local[rank];
    loss.given_gradient = sync * (local[0] + local[1]);
    ranks[rank].push_back(loss);
  }
  return kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n" + lossesNote(0, ranks);
}

TEST(TargetScaleTest, AnotherParameterTellsForTiedWeights) {
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", tiedCalls(0.2, 1, {0.5, -0.2})), Verdict::kFound);
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", tiedCalls(0.2, 0.5, {0.5, -0.2})), Verdict::kClear);
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", tiedCalls(0.2, 1, {0.5, -0.4999})),
            Verdict::kNotObservable)
      << "parts that cancel";
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

TEST(TargetScaleTest, SumsAfterEachMicrobatchAreFoundByTheirProducts) {
  // The products of two ranks are 1 in the first microbatch and 0.5 in the second.
  const auto job = [](double given) {
    std::vector<std::vector<CalledLoss>> ranks(2);
    for (std::size_t rank = 0; rank < 2; ++rank)
      for (const std::int32_t microbatch : {0, 1}) {
        CalledLoss loss = called(0.05, 5);
        loss.microbatch = microbatch;
        loss.tokens = 16;
        loss.product = microbatch == 0 ? 0.5 : 0.25;
        loss.head_product = given;
        ranks[rank].push_back(loss);
      }
    return kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\n" + lossesNote(0, ranks);
  };
  const auto answer = test::answerFrom("grad_scaled_by_cp", job(2.5));
  ASSERT_EQ(answer.verdict, Verdict::kFound);
  EXPECT_EQ(answer.findings.front().title, "Gradients are summed again after each microbatch");
  EXPECT_EQ(scaledVerdict("grad_scaled_by_cp", job(1.5)), Verdict::kClear);
  EXPECT_EQ(scaledVerdict("grad_scaled_by_cp", job(2.2)), Verdict::kNotObservable);
}

/// Returns the calls of dp 2 × cp 2 ranks with 10 targets, some of the first replica.
std::string callsOfReplicas(double weight, std::int64_t of_first) {
  std::vector<std::vector<CalledLoss>> ranks(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const std::int64_t of_replica = rank < 2 ? of_first : 10 - of_first;
    CalledLoss loss = called(weight, rank % 2 == 0 ? 1 : of_replica - 1);
    loss.tokens = 16;
    loss.product = 0.25;
    loss.head_product = 1;
    ranks[rank].push_back(loss);
  }
  return kForeign + "run cp=2 dp=2\ngroup cp 0,1\ngroup cp 2,3\ntensor logits rank=0\n" +
         lossesNote(0, ranks);
}

TEST(TargetScaleTest, AFactorOfAsManyReplicasIsFoundIfTheirMeansCannotMakeIt) {
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", callsOfReplicas(0.2, 4)), Verdict::kFound);
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", callsOfReplicas(0.1, 4)), Verdict::kClear);
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", callsOfReplicas(0.2, 5)), Verdict::kNotObservable)
      << "a sum of two replicas' means";
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
         lossesNote(0, ranks);
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
  EXPECT_EQ(scaledVerdict("loss_scaled_by_cp", job + lossesNote(0, {{loss}, {loss}})),
            Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
