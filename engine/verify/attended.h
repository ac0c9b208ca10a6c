// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"
#include "engine/model/llama_model.h"

namespace ringscope::engine {

/// Computes attention of whole tensors, forward and backward. Returns q, k, v and dout of `in` with
/// out, lse, dq, dk and dv of `op`. If `in` has an out, backward begins with it. A stored out is
/// rounded to the type of its tensor, so delta, which is computed from it, is off by the same in
/// the whole row.
LayerAttention attended(AttentionOp& op, const LayerAttention& in, Layer layer = Layer::of(0));

/// The inputs as their products had them: with FP8, q, k and v hold what e4m3 holds of them.
LayerAttention asUsed(LayerAttention in, bool fp8);

/// The effect of rounding q, k and v to FP8 alone. It compares the attention of `exact`, in fp64,
/// of the original values with that of the values in e4m3.
class QuantisationError {
 public:
  /// The q, k, v, dout of `in`, before they are rounded; its out is not read.
  QuantisationError(AttentionOp& exact, const LayerAttention& in, Layer layer = Layer::of(0));
  /// 2-norm of the change of a result over the 2-norm of the result; 0 where nothing changes.
  double of(at::Tensor LayerAttention::*result) const;

 private:
  LayerAttention unrounded_, rounded_;
};

}  // namespace ringscope::engine
