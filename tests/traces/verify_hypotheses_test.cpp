// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "tests/support/recorded_layer.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/catalogue/detection.h"
#include "traces/analysis/verify/hypotheses/hypothesis.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"

namespace ringscope::traces {
namespace {

using Merge = BlockedAttention::Merge;

/// A causal attention of random numbers with two query heads and one KV head.
struct Sample {
  Sample() {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    const auto draw = [&](std::vector<double>& values, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) values.push_back(normal(random));
    };
    draw(q, 2 * kHeads * kTokens * kWidth);
    draw(k, 2 * kTokens * kWidth);
    draw(v, 2 * kTokens * kWidth);
    draw(dout, std::ssize(q));
    draw(sinks, 2 * kHeads);
    in.batch = 2;
    in.heads = kHeads;
    in.kv_heads = 1;
    in.head_dim = kWidth;
    for (std::int64_t t = 0; t < kTokens; ++t) in.q_tokens.push_back(TokenIndex::of(t));
    in.k_tokens = in.q_tokens;
    in.q = q;
    in.k = k;
    in.v = v;
    in.dout = dout;
    in.sinks = sinks;
    in.scale = 0.5;
    in.mask.causal = true;
  }

  /// Returns the keys up to the query, in blocks of five.
  static KeyBlocks causalBlocks(const BlockRow& row) {
    KeyBlocks blocks;
    for (std::size_t key = 0; key <= row.row; ++key) {
      if (key % 5 == 0) blocks.push_back({WorldRank::of(static_cast<int>(key / 5)), {}});
      blocks.back().keys.push_back({key, key});
    }
    return blocks;
  }
  BlockedAttention blocked() const { return {causalBlocks, causalBlocks}; }

  static constexpr std::int64_t kHeads = 2, kTokens = 13, kWidth = 4;
  std::vector<double> q, k, v, dout, sinks;
  AttentionInputs in;
};

void expectNear(const std::vector<double>& a, const std::vector<double>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-12) << what << " " << i;
}

TEST(BlockedAttentionTest, BlocksMergedByTheirWeightsAreUnshardedAttention) {
  const Sample sample;
  const AttentionValues whole = attend(sample.in),
                        blocks = attendInBlocks(sample.in, sample.blocked());
  expectNear(blocks.out, whole.out, "out");
  expectNear(blocks.lse, whole.lse, "lse");
  expectNear(blocks.delta, whole.delta, "delta");
  expectNear(blocks.dq, whole.dq, "dq");
  expectNear(blocks.dk, whole.dk, "dk");
  expectNear(blocks.dv, whole.dv, "dv");
}

TEST(BlockedAttentionTest, APlainSumAddsTheOutsOfBlocksAndKeepsTheRightLse) {
  Sample sample;
  sample.in.sinks = {};
  BlockedAttention how = sample.blocked();
  how.merge = Merge::kPlainSum;
  const AttentionValues sum = attendInBlocks(sample.in, how), whole = attend(sample.in);
  expectNear(sum.lse, whole.lse, "lse");
  std::vector<double> added(whole.out.size(), 0);
  for (std::size_t part = 0; part < 3; ++part) {
    BlockedAttention one = sample.blocked();
    one.forward = [part](const BlockRow& row) {
      KeyBlocks blocks = Sample::causalBlocks(row);
      return part < blocks.size() ? KeyBlocks{blocks[part]} : KeyBlocks{};
    };
    const AttentionValues values = attendInBlocks(sample.in, one);
    for (std::size_t i = 0; i < added.size(); ++i) added[i] += values.out[i];
  }
  expectNear(sum.out, added, "out");
}

TEST(BlockedAttentionTest, ABaseTwoLogSumExpTakenAsNaturalIsLargerByLogTwo) {
  Sample sample;
  sample.in.sinks = {};
  BlockedAttention how{[](const BlockRow& row) {
                         KeyBlock block;
                         for (std::size_t key = 0; key <= row.row; ++key)
                           block.keys.push_back({key, key});
                         return KeyBlocks{block};
                       },
                       Sample::causalBlocks, Merge::kBaseTwo};
  const AttentionValues base_two = attendInBlocks(sample.in, how), whole = attend(sample.in);
  expectNear(base_two.out, whole.out, "one block's out");
  for (std::size_t i = 0; i < whole.lse.size(); ++i)
    EXPECT_NEAR(base_two.lse[i], whole.lse[i] / std::numbers::ln2, 1e-12);
}

TEST(HypothesesTest, DetectionsNameMistakesOfTheCatalogueAndOrderHypothesesOnce) {
  std::size_t attention = 0, numbers = 0;
  for (const Detection& detection : detections()) {
    EXPECT_NE(findMistake(detection.mistake), nullptr) << detection.mistake;
    attention += detection.attention.size();
    numbers += detection.numbers.size();
  }
  EXPECT_EQ(hypotheses().size(), attention);
  EXPECT_EQ(stepHypotheses().size(), numbers);
}

std::vector<WorldRank> fourRanks() {
  std::vector<WorldRank> members;
  for (int rank = 0; rank < 4; ++rank) members.push_back(WorldRank::of(rank));
  return members;
}

TEST(HypothesesTest, WithoutRecordedBlocksThoseOfARingAreTried) {
  test::RecordedLayer layer({{"0-1", "1-2"}});
  for (const std::int64_t head : {0, 1}) {
    const auto out = layer.row(TensorKind::kOut, 0, head, 1);
    const auto v0 = layer.row(TensorKind::kV, 0, head, 0),
               v1 = layer.row(TensorKind::kV, 0, head, 1);
    for (std::size_t d = 0; d < out.size(); ++d) out[d] = v0[d] + v1[d];
  }
  const LayerCheck check =
      checkLayer(*layer.record(), {0, Layer::of(0), 0}, {WorldRank::of(0), WorldRank::of(1)}, 1e12);
  ASSERT_TRUE(check.hypotheses.reproduced());
  EXPECT_EQ(check.hypotheses.reproduced()->mistake, "naive_sum_merge");
  EXPECT_NE(check.hypotheses.assumed, "");
}

TEST(HypothesesTest, ALayerThatIsRightIsNotTried) {
  const test::RecordedLayer layer({{"0-8,56-64", "8-16,48-56", "16-24,40-48", "24-40"}});
  const LayerCheck check = checkLayer(*layer.record(), {0, Layer::of(0), 0}, fourRanks(), 1e12);
  EXPECT_LE(check.worstRatio(), 1);
  EXPECT_TRUE(check.hypotheses.checks.empty());
  EXPECT_EQ(check.hypotheses.skipped, "");
}

TEST(HypothesesTest, ASpoiltRowIsWhatNoMistakeOfARingGives) {
  test::RecordedLayer layer({{"0-8,56-64", "8-16,48-56", "16-24,40-48", "24-40"}});
  layer.row(TensorKind::kOut, 0, 1, 20)[0] += 1;
  const LayerCheck check = checkLayer(*layer.record(), {0, Layer::of(0), 0}, fourRanks(), 1e12);
  EXPECT_GT(check.worstRatio(), 1);
  EXPECT_FALSE(check.hypotheses.checks.empty());
  EXPECT_FALSE(check.hypotheses.reproduced());
}

}  // namespace
}  // namespace ringscope::traces
