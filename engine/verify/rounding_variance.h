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

/// Returns the mean squares of the rounding errors of an attention in `type` (fp32, fp64, bf16 or
/// fp16) whose exact inputs and results `exact` holds: q, k, v, dout as they were used, and out,
/// lse, dq, dk, dv in fp64. `blocks` are the blocks that were merged.
AttentionVariance attentionVariance(const LayerAttention& exact, const Mask& mask,
                                    const MergedBlocks& blocks, double scale, at::ScalarType type);

}  // namespace ringscope::engine
