// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/model/llama_model.h"
#include "engine/verify/rounding_variance.h"
#include "traces/format/schema/records.h"

namespace ringscope::engine {

/// How large the rounding errors of the gradient of attention sinks [Hq] are to be expected in an
/// attention in `type` whose out, lse and dout `exact` holds: it is one number of few, each a sum
/// over all queries, and its error on one device may be small by luck.
TensorVariance sinkVariance(const at::Tensor& sinks, const LayerAttention& exact,
                            at::ScalarType type);

/// Fills a diff: the gradient `actual` of these sinks [Hq] against exact arithmetic on the dout,
/// out and lse that backward used; what is wrong in those is judged by itself.
void measureSinkGradient(traces::DiffRecord& diff, const at::Tensor& actual,
                         const at::Tensor& sinks, const LayerAttention& used);

}  // namespace ringscope::engine
