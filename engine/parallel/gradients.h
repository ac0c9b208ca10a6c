// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/model/llama_weights.h"
#include "engine/parallel/tensor_parallel.h"
#include "engine/train/rank_context.h"

namespace ringscope::engine {

/// Gradients by parameter, in fp32 (fp64 for fp64 weights), as the optimizer uses them.
using Gradients = std::map<std::string, at::Tensor>;

/// Gives every parameter a zeroed gradient that backward adds into.
void zeroGradients(const LlamaWeights& weights);

/// Sums all gradients over the dp × cp ranks as one flat message, by the context's seam. The loss
/// is divided by the targets of all of them before backward, so the sum is the average by targets.
Gradients syncGradients(const LlamaWeights& weights, const LlamaConfig& config,
                        const TensorParallel& tp, RankContext& context, const traces::Place& place);

/// The global 2-norm: squares of sharded parameters count once over tp, replicated ones once.
double gradientNorm(const Gradients& gradients, const LlamaConfig& config, const TensorParallel& tp,
                    RankContext& context);

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_
/// does.
void clipGradients(Gradients& gradients, double norm, double max_norm);

}  // namespace ringscope::engine
