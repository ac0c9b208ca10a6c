// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/exact_update.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/train/adamw.h"

namespace ringscope::engine {
namespace {

std::map<std::string, at::Tensor> copied(const LlamaWeights& weights, const AdamW& optimizer) {
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, weight] : weights.values()) state["weight." + name] = weight.clone();
  for (const auto& [name, tensor] : optimizer.state()) state[name] = tensor.clone();
  return state;
}

/// Returns update number `steps` of a weight with large and tiny gradients, as the trainer computes
/// it.
ParameterUpdate updated(at::ScalarType type, double max_norm, int steps = 3) {
  at::manual_seed(steps);
  const AdamW::Options options;
  const auto weights = LlamaWeights::of({"w"}, {{"w", at::randn({33, 7}).to(type)}});
  AdamW optimizer(weights, options);
  ParameterUpdate update;
  update.rule = {options.lr,    options.weight_decay, options.beta1,
                 options.beta2, options.eps,          max_norm};
  update.steps = steps;
  for (int step = 0; step < steps; ++step) {
    const auto sums = type == at::kDouble ? at::kDouble : at::kFloat;
    Gradients gradients{{"w", (at::randn({33, 7}) * at::exp(8 * at::randn({33, 1}))).to(sums)}};
    gradients["w"][0].zero_();
    update.before = copied(weights, optimizer);
    update.gradients = {{"w", gradients["w"].clone()}};
    update.norm = gradients["w"].to(at::kDouble).norm().item<double>();
    clipGradients(gradients, update.norm, max_norm);
    optimizer.step(gradients);
    update.after = copied(weights, optimizer);
  }
  return update;
}

double worst(const ParameterUpdate& update, const std::string& tensor) {
  double ratio = 0;
  for (const auto& diff : compareUpdate(2, update)) {
    EXPECT_TRUE(diff.isolated);
    EXPECT_EQ(diff.place.train_step, 2);
    if (diff.tensor == tensor) ratio = std::max(ratio, diff.ratio);
  }
  return ratio;
}

TEST(ExactUpdateTest, OptimizerUpdatesAreWithinRounding) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16})
    for (const double max_norm : {1e9, 1.0})
      for (const int steps : {1, 2, 20}) {
        const ParameterUpdate update = updated(type, max_norm, steps);
        EXPECT_LE(worst(update, "update.w"), 1)
            << toString(type) << " " << max_norm << " " << steps;
        EXPECT_LE(worst(update, "clip_norm"), 1) << toString(type) << " " << max_norm;
      }
}

TEST(ExactUpdateTest, DetectsAWrongFactorDecayMomentOrWeight) {
  const auto changed = [](auto change) {
    ParameterUpdate update = updated(at::kFloat, 1.0);
    change(update);
    return update;
  };
  EXPECT_GT(worst(changed([](auto& u) { u.norm *= 1.0001; }), "clip_norm"), 1);
  EXPECT_GT(worst(changed([](auto& u) { u.rule.max_norm = 1.001; }), "update.w"), 1);
  EXPECT_GT(worst(changed([](auto& u) { u.rule.weight_decay = 0; }), "update.w"), 1);
  EXPECT_GT(worst(changed([](auto& u) { u.rule.beta2 = 0.99; }), "update.w"), 1);
  EXPECT_GT(worst(changed([](auto& u) { ++u.steps; }), "update.w"), 1);
  EXPECT_GT(worst(changed([](auto& u) { u.after["weight.w"][5][3] += 1e-5; }), "update.w"), 1);
  EXPECT_GT(worst(changed([](auto& u) { u.after["first.w"][5] *= 1.0001; }), "update.w"), 1);
}

TEST(ExactUpdateTest, DetectsANarrowWeightThatDiffersFromItsMaster) {
  ParameterUpdate update = updated(at::kBFloat16, 1.0);
  update.after["weight.w"][5][3] *= 1.02;
  EXPECT_GT(worst(update, "update.w"), 1);
}

}  // namespace
}  // namespace ringscope::engine
