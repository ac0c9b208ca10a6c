// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/difference.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ringscope::engine {
namespace {

TEST(DifferenceTest, ARowIsTheLastDimensionOfAMatrixAndTellsBothNorms) {
  const auto rows = rowDifferences(at::tensor({1.0f, 2.0f, 5.0f, 5.0f}).view({2, 2}),
                                   at::tensor({1.0, 3.0, 2.0, 9.0}).view({2, 2}));
  EXPECT_EQ(rows.largest, 4);
  EXPECT_TRUE(at::equal(rows.errors, at::tensor({1.0, 5.0})));
  EXPECT_TRUE(at::allclose(rows.norms, at::tensor({std::sqrt(10.0), std::sqrt(85.0)})));
}

TEST(DifferenceTest, ANumberIsARowOfAVectorAScalarAndAnLse) {
  for (const at::Tensor& exact : {at::tensor({3.0, -2.0}), at::tensor(3.0), at::ones({1, 2, 3})}) {
    const auto rows = rowDifferences(exact.to(at::kFloat) + 1, exact.to(at::kDouble));
    EXPECT_EQ(rows.errors.sizes(), exact.sizes());
    EXPECT_TRUE(at::equal(rows.norms, exact.to(at::kDouble).abs()));
    EXPECT_EQ(rows.largest, 1);
  }
}

TEST(DifferenceTest, EqualInfinitiesDifferByZero) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto rows = rowDifferences(at::tensor({-inf, 1.0}), at::tensor({-inf, 1.0}));
  EXPECT_EQ(rows.largest, 0);
  EXPECT_TRUE(at::equal(rows.errors, at::zeros({2}, at::kDouble)));
}

TEST(DifferenceTest, ANanIsTheWorstDifference) {
  const auto rows =
      rowDifferences(at::tensor({9.0, std::nan(""), 100.0}), at::tensor({0.0, 1.0, 0.0}));
  EXPECT_TRUE(std::isnan(rows.largest));
  EXPECT_TRUE(std::isnan(rows.errors[1].item<double>()));
}

TEST(DifferenceTest, EmptyTensorsDifferByZero) {
  EXPECT_EQ(rowDifferences(at::zeros({0}), at::zeros({0}, at::kDouble)).largest, 0);
}

TEST(DifferenceTest, OnePassAndOperatorsGiveTheSameResult) {
  at::manual_seed(4);
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble})
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{2, 3, 17, 5}, {2, 3, 17}, {40, 7}, {9}}) {
      const at::Tensor a = at::randn(shape).to(type), exact = at::randn(shape, at::kDouble);
      const auto one_pass = rowDifferences(a, exact), by = rowDifferencesByOperators(a, exact);
      EXPECT_TRUE(at::allclose(one_pass.errors, by.errors, 1e-12, 0)) << type;
      EXPECT_TRUE(at::allclose(one_pass.norms, by.norms, 1e-12, 0)) << type;
      EXPECT_EQ(one_pass.largest, by.largest) << type;
    }
}

}  // namespace
}  // namespace ringscope::engine
