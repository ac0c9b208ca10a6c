// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/replayed_attention.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

AttentionResult ReplayedAttention::forward(const at::Tensor& q, const at::Tensor&,
                                           const at::Tensor&, Layer layer) {
  const LayerAttention& of_run = layers_[layer.index()];
  return {of_run.out.to(q.scalar_type()), of_run.lse};
}

AttentionGradients ReplayedAttention::backward(const at::Tensor&, const at::Tensor& q,
                                               const at::Tensor&, const at::Tensor&,
                                               const AttentionResult&, Layer layer) {
  const LayerAttention& of_run = layers_[layer.index()];
  const auto type = q.scalar_type();
  return {of_run.dq.to(type), of_run.dk.to(type), of_run.dv.to(type)};
}

}  // namespace ringscope::engine
