// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/model/llama_slices.h"
#include "engine/model/llama_weights.h"
#include "engine/parallel/gradient_norm.h"
#include "engine/rank/rank_context.h"

namespace ringscope::engine {

/// Sums all gradients over the dp × cp ranks as one flat message, by the context's seam. The loss
/// is divided by the targets of all of them before backward, so the sum is the average by targets.
/// `max_norm`: to which the sums will be clipped. `own`, unless null, takes this rank's own
/// gradients before they are summed.
Gradients syncGradients(const LlamaWeights& weights, const LlamaSlices& slices,
                        RankContext& context, const traces::Place& place, double max_norm,
                        Gradients* own = nullptr);

}  // namespace ringscope::engine
