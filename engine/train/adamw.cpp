// SPDX-License-Identifier: Apache-2.0
#include "engine/train/adamw.h"

#include <ATen/ATen.h>

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
  std::vector<at::Tensor> masters, grads, first, second;
  for (const auto& [name, m] : moments_) {
    masters.push_back(m.master);
    grads.push_back(gradients.at(name).to(m.master.scalar_type()));
    first.push_back(m.first);
    second.push_back(m.second);
  }
  // The kernel needs the step number as one tensor per parameter.
  const at::Tensor step =
      at::full({}, static_cast<double>(steps_), masters.front().options().dtype(at::kFloat));
  at::_fused_adamw_(masters, grads, first, second, {},
                    std::vector<at::Tensor>(masters.size(), step), options_.lr, options_.beta1,
                    options_.beta2, options_.weight_decay, options_.eps, /*amsgrad=*/false,
                    /*maximize=*/false);
  for (const auto& [name, m] : moments_) {
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
