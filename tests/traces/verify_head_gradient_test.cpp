// SPDX-License-Identifier: Apache-2.0
// Sums of ranks' gradients that are right, and sums in which a rank's part was made smaller.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "traces/analysis/verify/recompute/head_gradient.h"
#include "traces/analysis/verify/recompute/sixteen_bits.h"

namespace ringscope::traces {
namespace {

/// Returns the parts of a rank with large and a rank with small gradients in bfloat16. The second
/// part is multiplied by `factor`. The rounding is this share of the large part.
HeadParts loudAndQuiet(double factor, double rounding) {
  constexpr std::size_t kNumbers = 600;
  constexpr double kQuiet = 0.1;
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> loud(kNumbers), quiet(kNumbers), sum(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    loud[i] = normal(random);
    quiet[i] = kQuiet * normal(random);
    sum[i] = loud[i] + factor * quiet[i] + rounding * normal(random);
  }
  HeadParts head;
  head.parameter = "lm_head.weight";
  head.rounding = 0.015;
  head.slices.push_back({{WorldRank::of(0), WorldRank::of(1)}, {sum}, {loud, quiet}});
  return head;
}

TEST(HeadGradientTest, AFactorThatExplainsNoMoreThanRoundingLeavesTheSumRight) {
  const HeadGradient head = fitHeadGradient(loudAndQuiet(0.95, 0.005));
  EXPECT_TRUE(head.isMadeSmaller()) << head.ranks[1].factor << "±" << head.ranks[1].error;
  EXPECT_GT(head.off_by_rank, head.off / 2);
  EXPECT_TRUE(head.isRight());
}

TEST(HeadGradientTest, AFactorThatExplainsNearlyAllIsNoRoundingThoughTheSumIsNear) {
  const HeadGradient head = fitHeadGradient(loudAndQuiet(0.9, 0.0005));
  EXPECT_LT(head.off, head.rounding);
  EXPECT_LT(head.off_by_rank, head.off / 10);
  EXPECT_FALSE(head.isRight());
}

TEST(HeadGradientTest, ASumFurtherOffThanRoundingIsNotRight) {
  EXPECT_FALSE(fitHeadGradient(loudAndQuiet(0.5, 0.0005)).isRight());
  EXPECT_TRUE(fitHeadGradient(loudAndQuiet(1, 0.005)).isRight());
}

TEST(SixteenBitsTest, ValuesOfOneSixteenBitTypeFit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(fitSixteenBits(std::vector<double>{1, -0.5, 1 + 0x1p-7, 0x1p100, infinity}));
  EXPECT_TRUE(fitSixteenBits(std::vector<double>{1 + 0x1p-10, -65'504, 0x1p-24, -infinity, nan}));
  EXPECT_TRUE(fitSixteenBits(std::vector<double>{0}));
}

TEST(SixteenBitsTest, ValuesThatNeedMoreBitsOrBothTypesDoNotFit) {
  EXPECT_FALSE(fitSixteenBits(std::vector<double>{1 + 0x1p-11}));
  EXPECT_FALSE(fitSixteenBits(std::vector<double>{1 + 0x1p-10, 0x1p100}));
  EXPECT_FALSE(fitSixteenBits(std::vector<double>{1 + 0x1p-10, 0x1p-25}));
  EXPECT_FALSE(fitSixteenBits(std::vector<double>{0.1}));
}

}  // namespace
}  // namespace ringscope::traces
