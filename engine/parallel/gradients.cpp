// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/gradients.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ringscope::engine {

void zeroGradients(const LlamaWeights& weights) {
  const MemoryScope scope(MemoryCategory::kGradients);
  for (const std::string& name : weights.names()) {
    at::Tensor& grad = weights[name].mutable_grad();
    if (grad.defined())
      grad.zero_();
    else
      grad = at::zeros_like(weights[name].detach());
  }
}

Gradients syncGradients(const LlamaWeights& weights, const LlamaConfig& config,
                        const TensorParallel& tp, RankContext& context,
                        const traces::Place& place) {
  StageScope scope(context.observer, traces::EventKind::kGradSync, place);
  scope.event().payload = traces::Payload::kGrads;
  const MemoryScope memory(MemoryCategory::kGradients);
  std::vector<at::Tensor> flat;
  for (const std::string& name : weights.names()) {
    at::Tensor grad = weights[name].grad();
    const auto sums = grad.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    grad = grad.to(sums).contiguous();
    tp.sumReplicas(name, grad, config);
    flat.push_back(grad.view(-1));
  }
  at::Tensor joined = at::cat(flat);
  Communicator& ranks = context.groups.dpCp();
  const std::int64_t before = ranks.reducedBytes();
  context.seams.reduce_gradients(context.groups, joined);
  scope.event().bytes = ranks.reducedBytes() - before;
  Gradients gradients;
  std::int64_t offset = 0;
  for (const std::string& name : weights.names()) {
    const at::Tensor& parameter = weights[name];
    at::Tensor part = joined.slice(0, offset, offset + parameter.numel()).view(parameter.sizes());
    // Where the types allow it, backward adds into the same memory next time.
    if (part.scalar_type() == parameter.scalar_type()) parameter.mutable_grad() = part;
    gradients[name] = std::move(part);
    offset += parameter.numel();
  }
  return gradients;
}

double gradientNorm(const Gradients& gradients, const LlamaConfig& config, const TensorParallel& tp,
                    RankContext& context) {
  double squares = 0;
  for (const auto& [name, grad] : gradients) {
    if (!tp.countsInNorm(name, config)) continue;
    const at::Tensor values = grad.to(at::kDouble).view(-1);
    squares += values.dot(values).item<double>();
  }
  at::Tensor total = at::tensor({squares}, at::kDouble);
  if (tp.size() > 1) context.groups.tp().allReduceSum(total);
  return std::sqrt(total.item<double>());
}

void clipGradients(Gradients& gradients, double norm, double max_norm) {
  const double coefficient = max_norm / (norm + 1e-6);
  if (coefficient >= 1.0) return;
  for (auto& [name, grad] : gradients) grad.mul_(coefficient);
}

}  // namespace ringscope::engine
