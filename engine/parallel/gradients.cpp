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

void syncGradients(const LlamaWeights& weights, RankContext& context, const traces::Place& place) {
  StageScope scope(context.observer, traces::EventKind::kGradSync, place);
  scope.event().payload = traces::Payload::kGrads;
  const MemoryScope memory(MemoryCategory::kGradients);
  std::vector<at::Tensor> flat;
  for (const std::string& name : weights.names()) flat.push_back(weights[name].grad().view(-1));
  at::Tensor joined = at::cat(flat);
  const std::int64_t before = context.cp.reducedBytes();
  context.seams.reduce_gradients(context.cp, joined);
  scope.event().bytes = context.cp.reducedBytes() - before;
  std::int64_t offset = 0;
  for (const std::string& name : weights.names()) {
    at::Tensor& grad = weights[name].mutable_grad();
    grad.copy_(joined.slice(0, offset, offset + grad.numel()).view(grad.sizes()));
    offset += grad.numel();
  }
}

double gradientNorm(const LlamaWeights& weights) {
  double squares = 0;
  for (const std::string& name : weights.names())
    squares += weights[name].grad().to(at::kDouble).pow(2).sum().item<double>();
  return std::sqrt(squares);
}

void clipGradients(const LlamaWeights& weights, double norm, double max_norm) {
  const double coefficient = max_norm / (norm + 1e-6);
  if (coefficient >= 1.0) return;
  for (const std::string& name : weights.names()) weights[name].mutable_grad().mul_(coefficient);
}

}  // namespace ringscope::engine
