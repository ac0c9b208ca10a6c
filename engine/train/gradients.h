// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/model/llama_slices.h"
#include "engine/model/llama_weights.h"
#include "engine/parallel/gradient_norm.h"
#include "engine/rank/rank_context.h"

namespace ringscope::engine {

/// Sums all gradients over the dp × cp ranks as one flat message, through the context's seam. The
/// loss was divided by the number of targets of all ranks, so the sum is the average over targets.
/// The sums will be clipped to `max_norm`. Unless null, `own` receives this rank's gradients before
/// the sum.
Gradients syncGradients(const LlamaWeights& weights, const LlamaSlices& slices,
                        RankContext& context, const traces::Place& place, double max_norm,
                        Gradients* own = nullptr);

}  // namespace ringscope::engine
