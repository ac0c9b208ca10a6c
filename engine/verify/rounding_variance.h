// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/model/llama_model.h"
#include "engine/plan.h"
#include "traces/analysis/verify/rounding/attention_variance.h"

namespace ringscope::engine {

using traces::AttentionVariance;
using traces::MergedBlocks;
using traces::RowVariance;
using traces::TensorVariance;

/// Returns the mean squares of the rounding errors of an attention in the type fp32, fp64,
/// bf16 or fp16. In `exact`, q, k, v and dout are those that were used, and out, lse, dq, dk and dv
/// are exact in fp64. The merged blocks are `blocks`.
AttentionVariance attentionVariance(const LayerAttention& exact, const Mask& mask,
                                    const MergedBlocks& blocks, const ScoreRule& rule,
                                    at::ScalarType type);

}  // namespace ringscope::engine
