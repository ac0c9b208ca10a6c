// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "engine/data/batch.h"
#include "engine/kernels/attention_op.h"
#include "engine/model/llama_model.h"

namespace ringscope::engine {

/// One training step without sharding, up to the gradients: what a sharded one must equal.
struct UnshardedStep {
  std::vector<LayerAttention> layers;
  at::Tensor logits;
  double loss = 0;  ///< mean over targets
  std::map<std::string, at::Tensor> gradients;
  /// The approximate squared 2-norm of a token's input of attention, per layer.
  std::vector<double> input_squares;

  /// Runs it in `type` from (a copy of) `weights`; cos and sin of the rotary embedding are those
  /// that a run in `rotary_type` has.
  static UnshardedStep run(const LlamaConfig& config, const LlamaWeights& weights,
                           const Batch& batch, AttentionOp& attention, at::ScalarType type,
                           at::ScalarType rotary_type);
};

}  // namespace ringscope::engine
