// SPDX-License-Identifier: Apache-2.0
#include "engine/train/adamw.h"

#include <ATen/ATen.h>

#include <cmath>

#include "engine/observe/memory_tracker.h"

namespace ringscope::engine {

AdamW::AdamW(const LlamaWeights& weights, Options options) : weights_(weights), options_(options) {
  const MemoryScope scope(MemoryCategory::kOptimizer);
  for (const std::string& name : weights.names()) {
    const at::Tensor parameter = weights[name].detach();
    moments_[name] = {at::zeros_like(parameter), at::zeros_like(parameter)};
  }
}

void AdamW::step() {
  const MemoryScope scope(MemoryCategory::kOptimizer);
  ++steps_;
  const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  for (auto& [name, m] : moments_) {
    at::Tensor parameter = weights_[name].detach();
    const at::Tensor grad = weights_[name].grad();
    parameter.mul_(1 - options_.lr * options_.weight_decay);
    m.first.lerp_(grad, 1 - options_.beta1);
    m.second.mul_(options_.beta2).addcmul_(grad, grad, 1 - options_.beta2);
    const at::Tensor denominator = (m.second.sqrt() / std::sqrt(correction2)).add_(options_.eps);
    parameter.addcdiv_(m.first, denominator, -options_.lr / correction1);
  }
}

}  // namespace ringscope::engine
