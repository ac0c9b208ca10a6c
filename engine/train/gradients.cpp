// SPDX-License-Identifier: Apache-2.0
#include "engine/train/gradients.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

at::ScalarType typeOfSums(const at::Tensor& gradient) {
  return gradient.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

std::int64_t bytesToSum(const LlamaWeights& weights) {
  std::size_t bytes = 0;
  for (const std::string& name : weights.names()) {
    const at::Tensor& grad = weights[name].grad();
    bytes += static_cast<std::size_t>(grad.numel()) * at::elementSize(typeOfSums(grad));
  }
  return static_cast<std::int64_t>(bytes);
}

/// Returns copies of the gradients in a flat tensor.
Gradients copiesOf(const at::Tensor& joined, const LlamaWeights& weights) {
  const MemoryScope memory(MemoryCategory::kVerify);
  Gradients copies;
  std::int64_t offset = 0;
  for (const std::string& name : weights.names()) {
    const at::Tensor& parameter = weights[name];
    copies[name] =
        joined.slice(0, offset, offset + parameter.numel()).view(parameter.sizes()).clone();
    offset += parameter.numel();
  }
  return copies;
}

}  // namespace

Gradients syncGradients(const LlamaWeights& weights, const LlamaSlices& slices,
                        RankContext& context, const traces::Place& place, double max_norm,
                        Gradients* own) {
  StageScope scope(context.observer, traces::EventKind::kGradSync, place, traces::WorldRank::none(),
                   {.bytes = bytesToSum(weights)});
  scope.event().payload = traces::Payload::kGrads;
  scope.event().group = context.groups.dpCp().group();
  const MemoryScope memory(MemoryCategory::kGradients);
  std::vector<at::Tensor> flat;
  for (const std::string& name : weights.names()) {
    at::Tensor grad = weights[name].grad();
    grad = grad.to(typeOfSums(grad)).contiguous();
    slices.sumShared(name, grad);
    flat.push_back(grad.view(-1));
  }
  at::Tensor joined = at::cat(flat);
  Communicator& ranks = context.groups.dpCp();
  const std::int64_t before = ranks.reducedBytes();
  const SeamPlace at = context.seamPlace(place);
  context.seams.gradients.local(at, joined, max_norm);
  if (own) *own = copiesOf(joined, weights);
  context.seams.gradients.reduce(at, context.groups, joined);
  scope.event().bytes = ranks.reducedBytes() - before;
  Gradients gradients;
  std::int64_t offset = 0;
  for (const std::string& name : weights.names()) {
    const at::Tensor& parameter = weights[name];
    at::Tensor part = joined.slice(0, offset, offset + parameter.numel()).view(parameter.sizes());
    // If the types match, backward adds to the same memory in the next step.
    if (part.scalar_type() == parameter.scalar_type()) parameter.mutable_grad() = part;
    gradients[name] = std::move(part);
    offset += parameter.numel();
  }
  return gradients;
}

}  // namespace ringscope::engine
