// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/error_measure.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ringscope::engine {
namespace {

traces::DiffRecord measured(const at::Tensor& actual, const at::Tensor& exact) {
  traces::DiffRecord diff;
  at::manual_seed(3);
  measureError(diff, {actual, exact, (exact + 1e-4 * at::randn_like(exact)).to(at::kFloat)});
  return diff;
}

TEST(ErrorMeasureTest, EachRowKeepsItsRatioAndTheWorstIsTheVerdict) {
  const at::Tensor exact = at::rand({1, 2, 8, 4}, at::kDouble);
  at::Tensor actual = exact.to(at::kFloat);
  actual[0][1][5][2] += 0.5;
  const auto diff = measured(actual, exact);
  ASSERT_EQ(diff.rows.shape, (std::vector<std::int64_t>{1, 2, 8}));
  ASSERT_EQ(diff.rows.codes.size(), 16u);
  for (std::int64_t row = 0; row < 16; ++row)
    if (row == 8 + 5)
      EXPECT_NEAR(*diff.rows.ofRow(row) / diff.ratio, 1, 0.05);
    else
      EXPECT_LT(*diff.rows.ofRow(row), 1) << row;
  EXPECT_FALSE(diff.rows.ofRow(16)) << "there is no such row";
}

TEST(ErrorMeasureTest, AnErrorWhereZeroIsMeantHasAFiniteMapAndOnlyAnInfinityHasNot) {
  const at::Tensor exact = at::zeros({1, 1, 3}, at::kDouble);
  const at::Tensor actual = at::tensor({0.0F, 5.0F, INFINITY}).view({1, 1, 3});
  const ErrorMaps maps = errorMaps(actual, exact);
  for (const at::Tensor& map : {maps.relative, maps.ulp}) {
    EXPECT_EQ(map[0][0].item<float>(), 0);
    EXPECT_GT(map[0][1].item<float>(), 1e38F);
    EXPECT_TRUE(std::isfinite(map[0][1].item<float>()));
    EXPECT_TRUE(std::isinf(map[0][2].item<float>()));
  }
}

TEST(ErrorMeasureTest, NumbersOfALseAreRowsAndNansAreBeyondAll) {
  const at::Tensor exact = at::rand({1, 2, 8}, at::kDouble);
  at::Tensor actual = exact.to(at::kFloat);
  actual[0][0][3] = std::nan("");
  const auto diff = measured(actual, exact);
  EXPECT_EQ(diff.rows.shape, (std::vector<std::int64_t>{1, 2, 8}));
  EXPECT_TRUE(std::isinf(*diff.rows.ofRow(3)));
  EXPECT_LT(*diff.rows.ofRow(4), 1);
}

TEST(ErrorMeasureTest, ManyRowsShareCodesAndNoneIsLost) {
  const at::Tensor exact = at::rand({300'001, 2}, at::kDouble);
  at::Tensor actual = exact.to(at::kFloat);
  actual[300'000][1] += 1;
  const auto diff = measured(actual, exact);
  EXPECT_LE(static_cast<std::int64_t>(diff.rows.codes.size()), traces::RowRatios::kMostCodes);
  EXPECT_NEAR(*diff.rows.ofRow(300'000) / diff.ratio, 1, 0.05);
  EXPECT_LT(*diff.rows.ofRow(0), 1);
}

/// A parameter's gradient of 64 rows, what one device makes of it, and the limits that follow.
struct JudgedGradient {
  at::Tensor exact = at::randn({64, 16}, at::kDouble);
  at::Tensor noise = 1e-4 * at::randn({64, 16}, at::kDouble);

  double ratioOf(const at::Tensor& error) const {
    traces::DiffRecord diff;
    measureRows(diff, exact + error, exact, rowLimits(exact, (exact + noise).to(at::kFloat)));
    return diff.ratio;
  }
};

TEST(ParameterLimitsTest, ARowThatIsLoudOnOneDeviceMayBeSoInTheRun) {
  at::manual_seed(4);
  JudgedGradient gradient;
  gradient.noise[9] *= 30;
  EXPECT_LT(gradient.ratioOf(gradient.noise), 1);
  at::Tensor elsewhere = gradient.noise.clone();
  elsewhere[40] = gradient.noise[9];
  EXPECT_GT(gradient.ratioOf(elsewhere), 1) << "a quiet row is held to what it and others are";
}

TEST(ParameterLimitsTest, WhereOneDeviceWasLuckyTheRunIsNotAccused) {
  at::manual_seed(4);
  JudgedGradient gradient;
  const at::Tensor error = gradient.noise.clone();
  gradient.noise.slice(0, 32, 64).mul_(0.05);  // a whole neighbourhood
  EXPECT_LT(gradient.ratioOf(error), 1);
}

TEST(ParameterLimitsTest, FifteenTimesWhatADeviceIsOffByIsSeenInEveryRow) {
  at::manual_seed(4);
  const JudgedGradient gradient;
  for (std::int64_t row = 0; row < 64; ++row) {
    at::Tensor error = at::zeros_like(gradient.noise);
    error[row] = 15e-4 * at::ones(16, at::kDouble);
    EXPECT_GT(gradient.ratioOf(error), 1) << row;
  }
}

TEST(RowRatiosTest, AByteKeepsFivePercentOverNineDecades) {
  using traces::RowRatios;
  EXPECT_EQ(RowRatios::decode(RowRatios::encode(0)), 0);
  for (double ratio = 2e-5; ratio < 5e4; ratio *= 1.37)
    EXPECT_NEAR(RowRatios::decode(RowRatios::encode(ratio)) / ratio, 1, 0.05) << ratio;
  EXPECT_TRUE(std::isinf(RowRatios::decode(RowRatios::encode(1e9))));
  EXPECT_TRUE(std::isinf(RowRatios::decode(RowRatios::encode(std::nan("")))));
}

}  // namespace
}  // namespace ringscope::engine
