// SPDX-License-Identifier: Apache-2.0
#include "engine/train/adamw.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ringscope::engine {
namespace {

/// Algorithm 2 of Loshchilov and Hutter 2019 in fp64.
struct ByThePaper {
  at::Tensor weight, first = at::zeros_like(weight), second = at::zeros_like(weight);
  int steps = 0;

  void step(const at::Tensor& grad, const AdamW::Options& o) {
    ++steps;
    first = o.beta1 * first + (1 - o.beta1) * grad;
    second = o.beta2 * second + (1 - o.beta2) * grad * grad;
    const at::Tensor m = first / (1 - std::pow(o.beta1, steps));
    const at::Tensor v = second / (1 - std::pow(o.beta2, steps));
    weight = weight - o.lr * (m / (v.sqrt() + o.eps) + o.weight_decay * weight);
  }
};

struct Trained {
  at::Tensor weight, expected;
};

/// Returns the weights after ten steps of AdamW and of the paper's algorithm.
Trained tenSteps(at::ScalarType type) {
  at::manual_seed(3);
  const AdamW::Options options;
  const auto weights = LlamaWeights::of({"w"}, {{"w", at::randn({33, 7}).to(type)}});
  AdamW optimizer(weights, options);
  ByThePaper paper{weights["w"].to(at::kDouble, false, /*copy=*/true)};
  for (int step = 0; step < 10; ++step) {
    const at::Tensor grad = at::randn({33, 7});
    optimizer.step({{"w", grad}});
    paper.step(grad.to(at::kDouble), options);
  }
  EXPECT_EQ(optimizer.steps(), 10);
  return {weights["w"], paper.weight};
}

TEST(AdamWTest, TakesTheStepsOfThePaper) {
  const auto [weight, expected] = tenSteps(at::kFloat);
  EXPECT_LT((weight.to(at::kDouble) - expected).abs().max().item<double>(), 2e-6);
  const auto exact = tenSteps(at::kDouble);
  EXPECT_LT((exact.weight - exact.expected).abs().max().item<double>(), 1e-14);
}

TEST(AdamWTest, NarrowWeightsAreTheirRoundedMasters) {
  // A step changes a weight by about 1e-3, less than half a unit in the last place for many
  // weights.
  const auto [weight, expected] = tenSteps(at::kBFloat16);
  const at::Tensor off = (weight.to(at::kDouble) - expected).abs();
  EXPECT_TRUE((off <= expected.abs() * std::ldexp(1.0, -8) + 1e-5).all().item<bool>());
}

}  // namespace
}  // namespace ringscope::engine
