// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/kernels/attention_op.h"
#include "engine/model/llama_model.h"

namespace ringscope::engine {

/// Attention that gives what a run's attention gave, whatever it is asked: a step with it tells
/// what is right around attention.
class ReplayedAttention : public AttentionOp {
 public:
  /// out, lse, dq, dk and dv of each layer, of the whole sequence.
  explicit ReplayedAttention(const std::vector<LayerAttention>& layers) : layers_(layers) {}

  /// In q's type, as other operators give it.
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;

 private:
  const std::vector<LayerAttention>& layers_;
};

}  // namespace ringscope::engine
