// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/recorded_head.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/verify/recompute/gradient_norm.h"
#include "traces/analysis/verify/recompute/loss.h"

namespace ringscope::traces {
namespace {

using test::kMeanLoss;
using test::loggedLoss;
using test::lossesOfTwoRanks;
using test::makeTrace;

constexpr double kSingle = 0x1p-24;

TEST(VerifyLossTest, UniformLogitsCostTheLogarithmOfTheVocabulary) {
  const std::vector<double> logits(std::size_t{3} * 5, 2.5), labels = {4, -100, 0};
  const LossSum loss = crossEntropySum(logits, labels, 5, kSingle);
  EXPECT_EQ(loss.targets, 2);
  EXPECT_NEAR(loss.sum, 2 * std::log(5.0), 1e-15);
  EXPECT_GT(loss.limit, kSingle);
  EXPECT_LT(loss.limit, 1e-4);
}

TEST(VerifyLossTest, LargeLogitsDoNotOverflow) {
  const std::vector<double> logits = {1e4, -1e4}, labels = {1};
  EXPECT_EQ(crossEntropySum(logits, labels, 2, kSingle).sum, 2e4);
}

TEST(VerifyLossTest, ALabelOutsideTheVocabularyIsRefused) {
  const std::vector<double> logits = {0, 0}, labels = {2}, two = {0, 0};
  EXPECT_THROW(crossEntropySum(logits, labels, 2, kSingle), Error);
  EXPECT_THROW(crossEntropySum(logits, two, 2, kSingle), Error);
  EXPECT_THROW(crossEntropySum(logits, two, 0, kSingle), Error);
}

TEST(VerifyLossTest, TheMeanIsOverTheTargetsOfAllRanks) {
  const ScalarCheck right = checkLoss(*makeTrace(lossesOfTwoRanks(loggedLoss(kMeanLoss))), 0);
  EXPECT_TRUE(right.skipped.empty()) << right.skipped;
  ASSERT_TRUE(right.ratio());
  EXPECT_NEAR(*right.exact, kMeanLoss, 1e-15);
  EXPECT_LE(*right.ratio(), 1);
  const double mean_of_means = (std::log(2.0) + std::log(4.0)) / 2;
  EXPECT_GT(*checkLoss(*makeTrace(lossesOfTwoRanks(loggedLoss(mean_of_means))), 0).ratio(), 1000);
}

TEST(VerifyLossTest, TensorParallelRanksHoldSlicesOfTheVocabulary) {
  const auto trace = makeTrace(
      "run cp=1 tp=2\nintent mask=causal loss=mean_over_targets\ngroup cp 0\ngroup cp 1\n"
      "group tp 0,1\n"
      "tensor logits rank=0 shape=1x2x1 values=0,1.0986122886681098\n"
      "tensor logits rank=1 shape=1x2x1 values=0,0\n"
      "tensor buffer.labels rank=0 shape=1x2 values=0,1\n"
      "tensor buffer.labels rank=1 shape=1x2 values=0,1\n" +
      loggedLoss((std::log(2.0) + std::log(4.0)) / 2));
  const ScalarCheck loss = checkLoss(*trace, 0);
  ASSERT_TRUE(loss.ratio()) << loss.skipped;
  EXPECT_LE(*loss.ratio(), 1);
}

TEST(VerifyLossTest, ReportsMissingValues) {
  EXPECT_EQ(checkLoss(*makeTrace(lossesOfTwoRanks("")), 0).skipped,
            "the loss that the run logged is not recorded");
  EXPECT_TRUE(checkLoss(*makeTrace(lossesOfTwoRanks("")), 0).exact) << "and yet it was computed";
  EXPECT_EQ(checkLoss(*makeTrace("intent loss=mean_over_targets\ngroup cp 0\n"
                                 "tensor buffer.labels rank=0 shape=1x1 values=0\n"
                                 "tensor logits rank=0 shape=1x1x2\n"),
                      0)
                .skipped,
            "the values of logits of rank 0 were not kept; --capture full keeps them");
  EXPECT_EQ(checkLoss(*makeTrace("group cp 0\n"), 0).skipped,
            "how the losses of several ranks were meant to become one is not recorded");
  EXPECT_EQ(checkLoss(*makeTrace("intent loss=mean_over_targets\ngroup cp 0\n"
                                 "tensor buffer.labels rank=0 shape=1x1 values=-100\n"
                                 "tensor logits rank=0 shape=1x1x2 values=1,2\n"),
                      0)
                .skipped,
            "no token has a target");
}

TEST(VerifyNormTest, SlicesCountEachAndWhatRanksHoldAlikeCountsOnce) {
  // 3² + 4² of the slices, 12² of what both ranks have.
  const auto trace = makeTrace(
      "group tp 0,1\ngroup cp 0\ngroup cp 1\n"
      "tensor grad.up_proj rank=0 shape=1x1 values=3\n"
      "tensor grad.up_proj rank=1 shape=1x1 values=4\n"
      "tensor grad.norm rank=0 shape=1 values=12\n"
      "tensor grad.norm rank=1 shape=1 values=12\n"
      "note step.0 {\"grad_norm\": 13}\n");
  const ScalarCheck norm = checkGradientNorm(*trace, 0);
  ASSERT_TRUE(norm.ratio()) << norm.skipped;
  EXPECT_EQ(*norm.exact, 13);
  EXPECT_EQ(*norm.ratio(), 0);
}

TEST(VerifyNormTest, PartsOfACutMatrixCountEachThoughTheyAreEqual) {
  const auto norm_of = [](const std::string& name) {
    const std::string grad = "tensor grad.model.layers.0.self_attn." + name;
    return *checkGradientNorm(
                *makeTrace("group tp 0,1\ngroup cp 0\ngroup cp 1\n" + grad +
                           " rank=0 shape=1x1 values=3\n" + grad + " rank=1 shape=1x1 values=3\n"),
                0)
                .exact;
  };
  EXPECT_EQ(norm_of("o_proj.weight"), std::sqrt(18.0));
  EXPECT_EQ(norm_of("v_proj.weight"), 3) << "both ranks have the head";
}

TEST(VerifyNormTest, AHeadOfKeysThatTpRanksShareCountsOnceThoughTheyMadeItDiffer) {
  const auto trace = makeTrace(
      "run cp=1 tp=2 kv_heads=1\ngroup tp 0,1\ngroup cp 0\ngroup cp 1\n"
      "tensor grad.model.layers.0.self_attn.k_proj.weight rank=0 shape=1x1 values=3\n"
      "tensor grad.model.layers.0.self_attn.k_proj.weight rank=1 shape=1x1 values=4\n");
  EXPECT_EQ(*checkGradientNorm(*trace, 0).exact, 3);
}

TEST(VerifyNormTest, TheBiasOfQIsCutAndThatOfTheOutputIsNot) {
  const auto trace = makeTrace(
      "group tp 0,1\ngroup cp 0\ngroup cp 1\n"
      "tensor grad.model.layers.0.self_attn.q_proj.bias rank=0 shape=1 values=3\n"
      "tensor grad.model.layers.0.self_attn.q_proj.bias rank=1 shape=1 values=4\n"
      "tensor grad.model.layers.0.self_attn.o_proj.bias rank=0 shape=1 values=12\n"
      "tensor grad.model.layers.0.self_attn.o_proj.bias rank=1 shape=1 values=12\n"
      "note step.0 {\"grad_norm\": 13}\n");
  EXPECT_EQ(*checkGradientNorm(*trace, 0).exact, 13);
}

TEST(VerifyNormTest, EachTpRankHasTheSinksOfItsHeads) {
  const auto trace = makeTrace(
      "group tp 0,1\ngroup cp 0\ngroup cp 1\n"
      "tensor grad.model.layers.0.self_attn.sinks rank=0 shape=1 values=3\n"
      "tensor grad.model.layers.0.self_attn.sinks rank=1 shape=1 values=4\n"
      "note step.0 {\"grad_norm\": 5}\n");
  EXPECT_EQ(*checkGradientNorm(*trace, 0).exact, 5);
}

TEST(VerifyNormTest, ANormThatCountsReplicasIsBeyondItsLimit) {
  const auto trace = makeTrace(
      "group tp 0,1\n"
      "tensor grad.norm rank=0 shape=1 values=12\ntensor grad.norm rank=1 shape=1 values=12\n"
      "note step.0 {\"grad_norm\": 16.97056274847714}\n");
  EXPECT_GT(*checkGradientNorm(*trace, 0).ratio(), 1000);
}

TEST(VerifyNormTest, WithoutGradientsItSaysWhatRecordsThem) {
  EXPECT_EQ(checkGradientNorm(*makeTrace("group cp 0\n"), 0).skipped,
            "no gradient of this training step is recorded of rank 0; --capture full records them");
  EXPECT_EQ(checkGradientNorm(Trace(), 0).skipped, "no gradient is recorded");
  EXPECT_EQ(
      checkGradientNorm(*makeTrace("group cp 0\ntensor grad.w rank=0 shape=2x2\n"), 0).skipped,
      "the values of grad.w of rank 0 were not kept; --capture full keeps them");
}

}  // namespace
}  // namespace ringscope::traces
