// SPDX-License-Identifier: Apache-2.0
#include "engine/train/adamw.h"

#include <ATen/ATen.h>

#include <cmath>

#include "engine/observe/memory_tracker.h"

namespace ringscope::engine {

AdamW::AdamW(const LlamaWeights& weights, Options options) : weights_(weights), options_(options) {
  const MemoryScope scope(MemoryCategory::kOptimizer);
  for (const std::string& name : weights.names()) {
    const at::Tensor weight = weights[name].detach();
    const bool narrow = weight.scalar_type() != at::kFloat && weight.scalar_type() != at::kDouble;
    const at::Tensor master = narrow ? weight.to(at::kFloat) : weight;
    moments_[name] = {at::zeros_like(master), at::zeros_like(master), master};
  }
}

void AdamW::step(const Gradients& gradients) {
  const MemoryScope scope(MemoryCategory::kOptimizer);
  ++steps_;
  const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  for (auto& [name, m] : moments_) {
    const at::Tensor& grad = gradients.at(name);
    m.master.mul_(1 - options_.lr * options_.weight_decay);
    m.first.lerp_(grad, 1 - options_.beta1);
    m.second.mul_(options_.beta2).addcmul_(grad, grad, 1 - options_.beta2);
    const at::Tensor denominator = (m.second.sqrt() / std::sqrt(correction2)).add_(options_.eps);
    m.master.addcdiv_(m.first, denominator, -options_.lr / correction1);
    at::Tensor weight = weights_[name].detach();
    if (weight.scalar_type() != m.master.scalar_type()) weight.copy_(m.master);
  }
}

std::map<std::string, at::Tensor> AdamW::state() const {
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, m] : moments_) {
    state["first." + name] = m.first;
    state["second." + name] = m.second;
    if (weights_[name].scalar_type() != m.master.scalar_type()) state["master." + name] = m.master;
  }
  return state;
}

}  // namespace ringscope::engine
