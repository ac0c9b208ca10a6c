// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/difference.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ringscope::engine {
namespace {

TEST(DifferenceTest, FindsTheLargestItsPlaceTheSquaresAndTheScale) {
  const auto totals =
      differenceTotals(at::tensor({1.0f, 2.0f, 5.0f, 5.0f}), at::tensor({1.0, 3.0, 2.0, 8.0}));
  EXPECT_EQ(totals.largest, 3);
  EXPECT_EQ(totals.worst, 2);  // the first of two
  EXPECT_EQ(totals.sum_squares, 1 + 9 + 9);
  EXPECT_EQ(totals.scale, 8);
}

TEST(DifferenceTest, EqualInfinitiesDifferByNothingAndCountForNoScale) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto totals = differenceTotals(at::tensor({-inf, 1.0}), at::tensor({-inf, 1.0}));
  EXPECT_EQ(totals.largest, 0);
  EXPECT_EQ(totals.scale, 1);
}

TEST(DifferenceTest, WhatIsNoNumberIsTheWorst) {
  const auto totals =
      differenceTotals(at::tensor({9.0, std::nan(""), 100.0}), at::tensor({0.0, 1.0, 0.0}));
  EXPECT_TRUE(std::isnan(totals.largest));
  EXPECT_EQ(totals.worst, 1);
}

TEST(DifferenceTest, NothingDiffersByNothing) {
  const auto totals = differenceTotals(at::zeros({0}), at::zeros({0}, at::kDouble));
  EXPECT_EQ(totals.largest, 0);
  EXPECT_EQ(totals.worst, 0);
}

}  // namespace
}  // namespace ringscope::engine
