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
