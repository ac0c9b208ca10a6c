// SPDX-License-Identifier: Apache-2.0
// The blocks that are merged, and the limits that follow from the variance of rounding errors.
#include <gtest/gtest.h>

#include <cmath>

#include "traces/analysis/verify/rounding/attention_variance.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/analysis/verify/rounding/running_sums.h"
#include "traces/plan/mask.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kSequence = 16;

MergedBlocks ofFour(Balance balance, const Mask& mask) {
  return MergedBlocks::of(ShardLayout(kSequence, 4, balance), mask);
}

/// Returns weights of a row, spread evenly over the keys of each of four blocks.
std::vector<double> blockWeights(const std::vector<double>& of_blocks) {
  std::vector<double> weights;
  for (const double weight : of_blocks) weights.insert(weights.end(), 4, weight / 4);
  return weights;
}

double mergeSquares(const std::vector<double>& of_blocks) {
  return ofFour(Balance::kNone, Mask::full()).sumsOver(5, 0, blockWeights(of_blocks)).squares;
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
  const MergeSums sums = MergedBlocks::whole(kSequence).sumsOver(3, 0, blockWeights({1, 1, 1, 1}));
  EXPECT_EQ(sums.squares, 1);
  EXPECT_EQ(sums.mixed, 0);
}

TEST(MergedBlocksTest, PartsOfRowsAndKeysFollowTheMask) {
  const MergedBlocks causal = ofFour(Balance::kNone, Mask::causalMask());
  EXPECT_EQ(causal.row_blocks.back(), 4);
  EXPECT_EQ(causal.row_parts.front(), 1);
  EXPECT_EQ(causal.row_parts.back(), 4);
  EXPECT_EQ(causal.key_parts.front(), 4);
  EXPECT_EQ(causal.key_parts.back(), 1);
}

TEST(MergedBlocksTest, EachRankIsOneBlock) {
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped}) {
    std::vector<std::size_t> keys(4, 0);
    for (const std::size_t block : ofFour(balance, Mask::causalMask()).block_of_key) ++keys[block];
    EXPECT_EQ(keys, std::vector<std::size_t>(4, 4));
  }
}

TEST(MergedBlocksTest, SelectedRowsAndKeysKeepTheirCounts) {
  const MergedBlocks causal = ofFour(Balance::kNone, Mask::causalMask());
  const std::vector<std::size_t> rows{kSequence - 1}, keys{0, kSequence - 1};
  const MergedBlocks part = causal.selected(rows, keys);
  EXPECT_EQ(part.row_parts, std::vector<double>{4});
  EXPECT_EQ(part.key_parts, (std::vector<double>{4, 1}));
  EXPECT_EQ(part.block_of_key, (std::vector<std::size_t>{0, 3}));
}

/// Returns the sizes for weights of one block, times vectors of length 1.
RunningSums sumsOver(const std::vector<double>& weights) {
  const std::vector<double> squares(weights.size(), 1);
  return sumTerms(MergedBlocks::whole(weights.size()), 0, weights, squares.data());
}

TEST(RunningSumsTest, PartialSumsOfEqualTermsGrowEvenly) {
  const RunningSums sums = sumsOver({0.25, 0.25, 0.25, 0.25});
  EXPECT_DOUBLE_EQ(sums.squares, (1 + 4 + 9 + 16) / 16.0);
  EXPECT_DOUBLE_EQ(sums.terms, (1 + 2 + 3 + 4) / 16.0);
  EXPECT_DOUBLE_EQ(sums.total, 1);
}

TEST(RunningSumsTest, ALargeFirstTermMakesAllPartialSumsLarge) {
  EXPECT_GT(sumsOver({0.97, 0.01, 0.01, 0.01}).squares, 3.7);
  EXPECT_LT(sumsOver({0.01, 0.01, 0.01, 0.97}).squares, 1.1);
}

TEST(RunningSumsTest, ALongRowIsSummedInRuns) {
  const double one_run = sumsOver(std::vector<double>(384, 1.0 / 384)).squares,
               two_runs = sumsOver(std::vector<double>(768, 1.0 / 768)).squares;
  EXPECT_NEAR(one_run, 384.0 / 3, 1);
  EXPECT_NEAR(two_runs, 2 * 384.0 / 3 / 4 + 1, 1);
  EXPECT_NEAR(runningGrowth(768, 384).of_end, two_runs, 1);
}

TEST(RunningSumsTest, EachBlockIsSummedByItself) {
  const std::vector<double> weights(4, 0.25), squares(4, 1);
  MergedBlocks striped = MergedBlocks::whole(4);
  striped.blocks = 2;
  striped.block_of_key = {0, 1, 0, 1};
  EXPECT_DOUBLE_EQ(sumTerms(striped, 0, weights, squares.data()).squares, 2 * (1 + 4) / 16.0);
}

/// Returns the limit of out of one row that attends two keys with equal weight after `merges`
/// merges of the same block.
double limitOfOut(DType dtype, double merges) {
  constexpr std::int64_t kWidth = 4;
  RoundedAttention in;
  in.heads = in.kv_heads = 1;
  in.head_dim = kWidth;
  in.scale = 0.5;
  in.dtype = dtype;
  in.blocks = MergedBlocks::whole(2);
  in.blocks.row_parts = {1 + merges, 1};
  in.q2 = in.k2 = in.v2 = {4, 4};
  VarianceSums sums(in);
  const std::vector<double> weights{0.5, 0.5}, out(kWidth, 1);
  sums.visit({0, 0, 0, weights, {}, out, 1, 0});
  return rowLimit(sums.finish({}).out.rows.front(), 0, kWidth);
}

TEST(RowLimitTest, GrowsWithTheNumberOfMerges) {
  EXPECT_GT(limitOfOut(DType::kFloat32, 63), 2 * limitOfOut(DType::kFloat32, 3));
}

TEST(RowLimitTest, FollowsTheTypeOfTheTensors) {
  const double single = limitOfOut(DType::kFloat32, 0);
  EXPECT_LT(single, 20 * unitRoundoff(DType::kFloat32) * 2) << "|out| is 2";
  EXPECT_GT(limitOfOut(DType::kFloat64, 0), 0x1p-29 * single);
  EXPECT_LT(limitOfOut(DType::kFloat64, 0), 3 * 0x1p-29 * single);
  EXPECT_GT(limitOfOut(DType::kBFloat16, 0), 1000 * single);
  EXPECT_LT(limitOfOut(DType::kFloat16, 0), limitOfOut(DType::kBFloat16, 0));
}

}  // namespace
}  // namespace ringscope::traces
