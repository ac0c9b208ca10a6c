// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "traces/analysis/verify/recompute/row_keys.h"

namespace ringscope::traces {
namespace {

/// One row of attention of some keys.
struct Row {
  std::vector<double> out, weights, v;
  std::size_t width;

  Row(std::size_t keys, const std::vector<TokenRun>& attended, std::size_t width_of_row = 8)
      : width(width_of_row) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < keys; ++i) weights.push_back(std::exp(normal(random)));
    for (std::size_t i = 0; i < keys * width; ++i) v.push_back(normal(random));
    out.assign(width, 0);
    double sum = 0;
    for (const TokenRun& run : attended)
      for (auto key = static_cast<std::size_t>(run.begin); key < static_cast<std::size_t>(run.end);
           ++key) {
        sum += weights[key];
        for (std::size_t d = 0; d < width; ++d) out[d] += weights[key] * v[key * width + d];
      }
    if (sum > 0)
      for (double& x : out) x /= sum;
  }
  auto keys(std::int64_t own, double tolerance = 1e-4) const {
    return findRowKeys({out, weights, v, tolerance}, own);
  }
};

using Runs = std::vector<TokenRun>;

TEST(RowKeysTest, FindsOneRunAndTwo) {
  for (const Runs& attended : {Runs{{20, 26}}, Runs{{0, 48}}, Runs{{5, 6}}, Runs{{0, 4}, {30, 41}},
                               Runs{{8, 12}, {24, 48}}})
    EXPECT_EQ(Row(48, attended).keys(40), attended);
}

TEST(RowKeysTest, FindsAFirstAndALastRunAmongManyKeys) {
  for (const Runs& attended : {Runs{{100, 301}}, Runs{{0, 4}, {250, 301}}})
    EXPECT_EQ(Row(400, attended).keys(300), attended);
  EXPECT_EQ(Row(5000, {{4000, 4301}}).keys(4300), (Runs{{4000, 4301}}));
}

TEST(RowKeysTest, TheOwnKeyComesBeforeAnotherOfEqualValue) {
  Row row(48, {{40, 41}});
  std::copy_n(row.v.begin() + 40 * 8, 8, row.v.begin() + 5 * 8);
  EXPECT_EQ(row.keys(40), (Runs{{40, 41}}));
  EXPECT_EQ(row.keys(41), (Runs{{5, 6}}));
}

TEST(RowKeysTest, ASinkTakesPartInTheSum) {
  for (const Runs& attended : {Runs{{20, 41}}, Runs{{0, 4}, {30, 41}}}) {
    Row row(48, attended);
    double sum = 0;
    for (const TokenRun& run : attended)
      sum += std::accumulate(row.weights.begin() + run.begin, row.weights.begin() + run.end, 0.0);
    for (double& x : row.out) x *= sum / (sum + 2.5);
    EXPECT_FALSE(row.keys(40));
    EXPECT_EQ(findRowKeys({row.out, row.weights, row.v, 1e-4, 2.5}, 40), attended);
  }
}

TEST(RowKeysTest, ARowOfZerosAttendsNoKey) {
  EXPECT_EQ(Row(48, {}).keys(10), Runs{});
}

TEST(RowKeysTest, ThreeRunsAndASumWithoutASoftmaxAreNoAttention) {
  EXPECT_FALSE(Row(48, {{0, 3}, {10, 14}, {30, 41}}).keys(40));
  Row added(48, {{0, 41}});
  for (double& x : added.out) x *= 2;
  EXPECT_FALSE(added.keys(40));
}

TEST(RowKeysTest, NumbersOfSixteenBitsAreFoundWithinTheirRounding) {
  Row row(48, {{20, 41}}, 16);
  for (double& x : row.out) x *= 1 + 1e-3;
  EXPECT_FALSE(row.keys(40));
  EXPECT_TRUE(row.keys(40, 0.02));
}

}  // namespace
}  // namespace ringscope::traces
