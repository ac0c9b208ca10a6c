// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/projection_variance.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ringscope::engine {
namespace {

const std::string kAttention = "model.layers.0.self_attn.";

/// One layer of 2 query heads and 1 key head of width 4 with 3 tokens. Its dq is off by 1, 2, 3 in
/// the first head and exact in the second.
struct OneLayer {
  OneLayer() {
    exact.layers.emplace_back();
    exact.layers[0].dq = at::zeros({1, 2, 3, 4}, at::kDouble);
    exact.layers[0].dk = exact.layers[0].dv = at::zeros({1, 1, 3, 4}, at::kDouble);
    exact.input_squares = {10};
    AttentionVariance variance;
    variance.dq.rows.resize(6);
    for (std::size_t token = 0; token < 3; ++token)
      variance.dq.rows[token].single = std::pow(static_cast<double>(token + 1), 2);
    variance.dk.rows.resize(3);
    variance.dv.rows.resize(3);
    variances.push_back(variance);
  }
  std::optional<TensorVariance> of(const std::string& parameter) const {
    return projectionVariance(parameter, exact, variances);
  }
  UnshardedStep exact;
  std::vector<AttentionVariance> variances;
};

TEST(ProjectionVarianceTest, TheRowsOfAHeadShareTheErrorsOfItsTokens) {
  const auto variance = OneLayer().of(kAttention + "q_proj.weight");
  ASSERT_TRUE(variance);
  const double of_row = 10.0 * (1 + 4 + 9) / 4;
  ASSERT_EQ(variance->rows.size(), 8u);
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_DOUBLE_EQ(variance->rows[row].single, row < 4 ? of_row : 0) << row;
    EXPECT_EQ(variance->rows[row].spread, 0) << row;
  }
}

TEST(ProjectionVarianceTest, ABiasHasNoInput) {
  const auto variance = OneLayer().of(kAttention + "q_proj.bias");
  ASSERT_TRUE(variance);
  EXPECT_DOUBLE_EQ(variance->rows[0].single, (1 + 4 + 9) / 4.0);
}

TEST(ProjectionVarianceTest, NothingIsKnownOfOtherParametersAndPastANorm) {
  OneLayer layer;
  EXPECT_FALSE(layer.of("model.layers.0.mlp.up_proj.weight"));
  EXPECT_FALSE(layer.of("model.layers.1.self_attn.q_proj.weight"));
  EXPECT_TRUE(layer.of(kAttention + "k_proj.weight"));
  layer.exact.gradients[kAttention + "k_norm.weight"] = at::zeros({4});
  EXPECT_FALSE(layer.of(kAttention + "k_proj.weight"));
  EXPECT_TRUE(layer.of(kAttention + "v_proj.weight"));
}

}  // namespace
}  // namespace ringscope::engine
