// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"
#include "engine/model/llama_model.h"

namespace ringscope::engine {

/// Attention forward and backward of whole tensors: the q, k, v, dout of `in`, with out, lse, dq,
/// dk, dv of `op`. Where `in` has an out, backward begins with that one: what a run stored is
/// rounded to the type of its tensors, and delta, which is of it, is off by as much in the whole
/// row.
LayerAttention attended(AttentionOp& op, const LayerAttention& in);

/// The inputs as their products had them: with FP8, q, k and v hold what e4m3 holds of them.
LayerAttention asUsed(LayerAttention in, bool fp8);

/// What rounding q, k and v to FP8 does by itself: the attention of `exact`, in fp64, of the values
/// as they were and as e4m3 holds them.
class QuantisationError {
 public:
  /// The q, k, v, dout of `in`, before they are rounded; its out is not read.
  QuantisationError(AttentionOp& exact, const LayerAttention& in);
  /// 2-norm of the change of a result over the 2-norm of the result; 0 where nothing changes.
  double of(at::Tensor LayerAttention::*result) const;

 private:
  LayerAttention unrounded_, rounded_;
};

}  // namespace ringscope::engine
