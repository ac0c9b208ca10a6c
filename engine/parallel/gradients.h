// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/model/llama_weights.h"
#include "engine/train/rank_context.h"

namespace ringscope::engine {

/// Gives every parameter a zeroed gradient that backward adds into.
void zeroGradients(const LlamaWeights& weights);

/// Reduces all gradients over the cp ranks as one flat message, by the context's seam.
void syncGradients(const LlamaWeights& weights, RankContext& context, const traces::Place& place);

/// The global 2-norm of all gradients; each square counts once, since every cp rank holds all of
/// them after the sync.
double gradientNorm(const LlamaWeights& weights);

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_
/// does.
void clipGradients(const LlamaWeights& weights, double norm, double max_norm);

}  // namespace ringscope::engine
