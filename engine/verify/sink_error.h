// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/model/llama_model.h"
#include "engine/verify/rounding_variance.h"
#include "traces/format/schema/records.h"

namespace ringscope::engine {

/// Returns the expected rounding errors of the gradient of attention sinks [Hq]. The attention is
/// in `type`, and `exact` has its out, lse and dout. The gradient has few numbers, each a sum over
/// all queries, so its errors on one device may be small by luck.
TensorVariance sinkVariance(const at::Tensor& sinks, const LayerAttention& exact,
                            at::ScalarType type);

/// Fills a diff of the gradient `actual` of these sinks [Hq]. The reference is exact arithmetic on
/// the dout, out and lse that backward used. Errors of these are judged separately.
void measureSinkGradient(traces::DiffRecord& diff, const at::Tensor& actual,
                         const at::Tensor& sinks, const LayerAttention& used);

}  // namespace ringscope::engine
