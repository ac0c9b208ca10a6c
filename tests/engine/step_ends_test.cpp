// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/step_ends.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/data/sharded_batch.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kFirst = 131040;  ///< position of the first token
constexpr double kNorm = 5;              ///< norm of all gradients
const std::string kParameter = "model.norm.weight";

/// A run of two cp ranks and two dp ranks whose values are those of the unsharded step.
class StepEndsTest : public testing::Test {
 protected:
  StepEndsTest() {
    at::manual_seed(1);
    batch.position_ids = at::arange(kFirst, kFirst + kLength).unsqueeze(0);
    batch.labels = at::randint(0, kVocabulary, {1, kLength}, at::kLong);
    const Rotary rotary = Rotary::of(batch.position_ids, config, at::kFloat);
    device.logits = at::randn({1, kLength, kVocabulary});
    exact.logits = device.logits.to(at::kDouble) * (1 + 1e-8);
    device.gradients[kParameter] = at::tensor({3.0F, 4.0F});
    exact.gradients[kParameter] = device.gradients[kParameter].to(at::kDouble) * (1 + 1e-8);
    unsharded.exact_around = exact.gradients;
    unsharded.device_around = device.gradients;
    exact.loss = lossOf(exact.logits);
    for (const GroupRank rank : everyRank(2)) {
      const auto part = [&](const at::Tensor& whole, std::int64_t dim) {
        return shardFor(whole, dim, layout, rank).clone();
      };
      RankStep step;
      step.logits = part(device.logits, 1);
      step.cos = part(rotary.cos, 2);
      step.sin = part(rotary.sin, 2);
      step.gradients.resize(2);
      for (auto& of_dp_rank : step.gradients)
        of_dp_rank[kParameter] = device.gradients[kParameter].clone();
      ranks.push_back(std::move(step));
    }
  }
  double lossOf(const at::Tensor& logits) const {
    const at::Tensor of = at::log_softmax(logits[0].to(at::kDouble), -1);
    return -of.gather(-1, batch.labels[0].unsqueeze(-1)).mean().item<double>();
  }
  StepEnds ends() const { return {0, dealt, ranks, batch, unsharded, variances}; }

  static constexpr std::int64_t kLength = 32, kVocabulary = 16;
  LlamaConfig config;
  ShardLayout layout{kLength, 2, traces::Balance::kHeadTail};
  BatchLayout dealt{layout};
  Batch batch;
  StepVerifier::Unsharded unsharded;
  UnshardedStep &exact = unsharded.exact, &device = unsharded.device;
  std::vector<AttentionVariance> variances;
  std::vector<RankStep> ranks;
};

TEST_F(StepEndsTest, CorrectResultsAreWithinTheirLimits) {
  EXPECT_LE(ends().rotary(config, at::kFloat).ratio, 1);
  EXPECT_LE(ends().logits().ratio, 1);
  EXPECT_LE(ends().loss(exact.loss + 1e-7).ratio, 1);
  EXPECT_LE(ends().gradients().front().ratio, 1);
  EXPECT_LE(ends().gradientNorm(kNorm).ratio, 1);
}

TEST_F(StepEndsTest, DetectsAnglesOfTheNextPositionAtLargePositions) {
  ranks[1].cos = ranks[1].cos.roll(1, 2);
  const auto diff = ends().rotary(config, at::kFloat);
  EXPECT_GT(diff.ratio, 1);
  ASSERT_EQ(diff.ratio_by_rank.size(), 2U);
  EXPECT_LE(diff.ratio_by_rank[0], 1);
  EXPECT_GT(diff.ratio_by_rank[1], 1);
}

TEST_F(StepEndsTest, AWrongRowOfLogitsIsFoundWithItsRank) {
  ranks[0].logits[0][3] *= 1.001;
  const auto diff = ends().logits();
  EXPECT_GT(diff.ratio_by_rank[0], 1);
  EXPECT_LE(diff.ratio_by_rank[1], 1);
}

TEST_F(StepEndsTest, DetectsALossThatDoesNotMatchRoundedLogits) {
  device.logits = device.logits + at::randn({1, kLength, kVocabulary}) * 1e-2;
  const double limit = limitOfMean(exact.loss, at::full({kLength}, 1e-3, at::kDouble));
  EXPECT_GT(ends().loss(exact.loss + limit / 10).ratio, 1);
}

TEST_F(StepEndsTest, DetectsALossOfWrongLogits) {
  for (RankStep& step : ranks) step.logits = step.logits * 1.1;
  EXPECT_GT(ends().loss(lossOf(device.logits * 1.1)).ratio, 1);
}

TEST_F(StepEndsTest, DetectsAWrongGradientOfTheSecondDpRank) {
  ranks[1].gradients[1][kParameter] *= 1.01;
  const auto diff = ends().gradients().front();
  EXPECT_EQ(diff.tensor, "grad." + kParameter);
  EXPECT_LE(diff.ratio_by_rank[0], 1);
  EXPECT_GT(diff.ratio_by_rank[1], 1);
}

TEST_F(StepEndsTest, PartialSumsThatCancelWidenTheLimit) {
  const double off = 0x1p-24 * 1000;  // one rounding of a partial sum
  for (RankStep& step : ranks)
    for (auto& of_dp_rank : step.gradients)
      of_dp_rank[kParameter] = of_dp_rank[kParameter] + static_cast<float>(off);
  EXPECT_GT(ends().gradients().front().ratio, 1);
  for (std::size_t cp = 0; cp < ranks.size(); ++cp) {
    ranks[cp].own_gradients.resize(2);
    for (auto& of_dp_rank : ranks[cp].own_gradients)
      of_dp_rank[kParameter] = at::full({2}, cp == 0 ? 1000.0 : -1000.0, at::kFloat);
  }
  EXPECT_LE(ends().gradients().front().ratio, 1);
  EXPECT_NEAR(summingErrors(kParameter, ranks)[0].item<double>(), std::pow(0.41 * off, 2), 1e-15)
      << "of 1000, 0, 1000 and 0 the last three are sums";
}

TEST_F(StepEndsTest, Fp8RoundingInAttentionHidesNoErrorAroundIt) {
  const at::Tensor around = exact.gradients[kParameter];
  exact.gradients[kParameter] = around * 1.05;
  EXPECT_LE(ends().gradients().front().ratio, 1);
  ranks[0].gradients[0][kParameter] *= 1.001;
  EXPECT_GT(ends().gradients().front().ratio, 1);
  unsharded.exact_around[kParameter] = around * NAN;
  EXPECT_LE(ends().gradients().front().ratio, 1) << "the exact step alone does not tell";
}

TEST_F(StepEndsTest, AllowsMoreRoundingForSumsOverTpRanks) {
  ranks[0].gradients[0][kParameter] *= 1.00001;
  const double whole = ends().gradients().front().ratio;
  unsharded.tp = 4;
  EXPECT_NEAR(ends().gradients().front().ratio, whole / 2, 1e-9 * whole);
}

TEST_F(StepEndsTest, DetectsANormThatCountsAGradientTwice) {
  EXPECT_GT(ends().gradientNorm(kNorm * 1.001).ratio, 1);
}

}  // namespace
}  // namespace ringscope::engine
