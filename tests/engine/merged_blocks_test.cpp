// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/merged_blocks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/kernels/reference.h"
#include "engine/verify/blocked_attention.h"
#include "engine/verify/difference.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kSequence = 16;

MergedBlocks ofFour(Balance balance, const Mask& mask) {
  return MergedBlocks::of(ShardLayout(kSequence, 4, balance), mask);
}

at::Tensor blockWeights(const std::vector<double>& of_blocks) {
  at::Tensor weights = at::zeros({1, 1, kSequence, kSequence}, at::kFloat);
  for (std::size_t b = 0; b < of_blocks.size(); ++b)
    weights.slice(3, 4 * static_cast<std::int64_t>(b), 4 * static_cast<std::int64_t>(b) + 4)
        .fill_(of_blocks[b] / 4);
  return weights;
}

double mergeSquares(const std::vector<double>& of_blocks) {
  const MergeSums sums = ofFour(Balance::kNone, Mask::full()).sumsOver(blockWeights(of_blocks), 0);
  return sums.squares[0][0][5].item<double>();
}

TEST(MergedBlocksTest, EachMergeCountsByTheShareThatItLeavesBehind) {
  EXPECT_NEAR(mergeSquares({0.25, 0.25, 0.25, 0.25}), 0.5 * 0.5 + 0.75 * 0.75 + 1, 1e-6);
  EXPECT_NEAR(mergeSquares({0.1, 0.7, 0.1, 0.1}), 0.8 * 0.8 + 0.9 * 0.9 + 1, 1e-6)
      << "in the order in which that is most";
}

TEST(MergedBlocksTest, ABlockWithoutWeightIsNoMerge) {
  EXPECT_NEAR(mergeSquares({0.5, 0.5, 0, 0}), 1, 1e-6);
}

TEST(MergedBlocksTest, OneBlockCountsAsOneMerge) {
  const MergeSums sums = MergedBlocks::whole(kSequence).sumsOver(blockWeights({1, 1, 1, 1}), 0);
  EXPECT_EQ(sums.squares[0][0][3].item<double>(), 1);
  EXPECT_EQ(sums.mixed[0][0][3].item<double>(), 0);
}

TEST(MergedBlocksTest, PartsOfRowsAndKeysFollowTheMask) {
  const MergedBlocks causal = ofFour(Balance::kNone, Mask::causalMask());
  EXPECT_EQ(causal.row_blocks[kSequence - 1].item<double>(), 4);
  EXPECT_EQ(causal.row_parts[0].item<double>(), 1);
  EXPECT_EQ(causal.row_parts[kSequence - 1].item<double>(), 4);
  EXPECT_EQ(causal.key_parts[0].item<double>(), 4);
  EXPECT_EQ(causal.key_parts[kSequence - 1].item<double>(), 1);
}

TEST(MergedBlocksTest, EveryTokenIsInOneBlock) {
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
    EXPECT_TRUE(
        at::equal(ofFour(balance, Mask::causalMask()).of_keys.sum(1), at::ones({kSequence})));
}

/// Random q, k, v and dout of two sequences and two heads.
struct BlockedInputs {
  BlockedInputs() {
    at::manual_seed(3);
    for (at::Tensor* t : {&q, &k, &v, &dout}) *t = at::randn({2, 2, kSequence, 8}, at::kDouble);
  }
  at::Tensor q, k, v, dout;
};

TEST(BlockedAttentionTest, BlocksOfEveryMaskAndBalanceGiveTheWholeAttention) {
  BlockedInputs in;
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
    for (const Mask& mask : {Mask::causalMask(), Mask::slidingWindow(5),
                             Mask::packed({0, 7, 11, kSequence}, kSequence)}) {
      BlockedAttention blocked(ShardLayout(kSequence, 4, balance), mask, 0.3, false);
      ReferenceAttention whole(mask, 0.3);
      for (AttentionOp* op : std::initializer_list<AttentionOp*>{&blocked, &whole})
        op->setSinks(at::tensor({0.5, -1.0}, at::kDouble));
      const auto a = blocked.forward(in.q, in.k, in.v, Layer::of(0)),
                 b = whole.forward(in.q, in.k, in.v, Layer::of(0));
      EXPECT_TRUE(at::allclose(a.out, b.out)) << traces::name(mask.kind());
      EXPECT_TRUE(at::allclose(a.lse, b.lse)) << traces::name(mask.kind());
      const auto c = blocked.backward(in.dout, in.q, in.k, in.v, b, Layer::of(0)),
                 d = whole.backward(in.dout, in.q, in.k, in.v, b, Layer::of(0));
      EXPECT_TRUE(at::allclose(c.dq, d.dq)) << traces::name(mask.kind());
      EXPECT_TRUE(at::allclose(c.dk, d.dk)) << traces::name(mask.kind());
      EXPECT_TRUE(at::allclose(c.dv, d.dv)) << traces::name(mask.kind());
    }
}

}  // namespace
}  // namespace ringscope::engine
