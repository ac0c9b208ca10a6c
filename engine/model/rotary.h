// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/model/llama_config.h"

namespace ringscope::engine {

/// cos and sin of the rotary embedding: [B, 1, S, head_dim].
struct Rotary {
  at::Tensor cos, sin;

  /// Computes cos and sin for position_ids, [B, S], the *global* positions of this rank's tokens.
  /// Angles are computed in fp32 (fp64 for fp64 models), like Hugging Face's LlamaRotaryEmbedding.
  static Rotary of(const at::Tensor& position_ids, const LlamaConfig& config, at::ScalarType type);
  /// Returns the base of the frequencies: rope_theta, or the larger base of a dynamic scaling.
  static double base(const LlamaConfig& config);
  /// Computes the angles, [B, 1, S, head_dim], in fp32 (fp64 for fp64 models).
  static at::Tensor angles(const at::Tensor& position_ids, const LlamaConfig& config,
                           at::ScalarType type);
  /// Rotates x, [B, H, S, head_dim], in halves like Hugging Face's rotate_half.
  at::Tensor apply(const at::Tensor& x) const;
};

}  // namespace ringscope::engine
