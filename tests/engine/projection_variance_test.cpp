// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/projection_variance.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

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
    const at::Tensor none = at::zeros({1, 2, 3}, at::kDouble),
                     none_of_keys = at::zeros({1, 1, 3}, at::kDouble);
    at::Tensor first = none.clone();
    first[0][0] = at::tensor({1.0, 4.0, 9.0}, at::kDouble);
    AttentionVariance variance;
    variance.dq = {none, none, first, none};
    variance.dk = variance.dv = {none_of_keys, none_of_keys, none_of_keys, none_of_keys};
    variances.push_back(variance);
  }
  std::optional<RowVariance> of(const std::string& parameter) const {
    return projectionVariance(parameter, exact, variances);
  }
  UnshardedStep exact;
  std::vector<AttentionVariance> variances;
};

TEST(ProjectionVarianceTest, TheRowsOfAHeadShareTheErrorsOfItsTokens) {
  const auto variance = OneLayer().of(kAttention + "q_proj.weight");
  ASSERT_TRUE(variance);
  const double of_row = 10.0 * (1 + 4 + 9) / 4;
  EXPECT_TRUE(
      at::allclose(variance->single,
                   at::tensor({of_row, of_row, of_row, of_row, 0.0, 0.0, 0.0, 0.0}, at::kDouble)));
  EXPECT_EQ(variance->spread.abs().sum().item<double>(), 0);
}

TEST(ProjectionVarianceTest, ABiasHasNoInput) {
  const auto variance = OneLayer().of(kAttention + "q_proj.bias");
  ASSERT_TRUE(variance);
  EXPECT_DOUBLE_EQ(variance->single[0].item<double>(), (1 + 4 + 9) / 4.0);
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
