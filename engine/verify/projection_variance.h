// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/verify/rounding_variance.h"
#include "engine/verify/unsharded_step.h"

namespace ringscope::engine {

/// Returns the expected rounding errors [N] of the rows of the gradient of a q, k or v projection
/// (weight [N, hidden] or bias [N]). They come from the rounding of the layer's own attention,
/// which `variances` has per layer. Returns nullopt for other parameters, and for q and k with a
/// norm.
///
/// A row is the sum over tokens of dq[t, n] · x[t]. Its mean square error is the sum of the mean
/// square errors of dq times |x|². The rotation spreads the errors of dq evenly over the D rows of
/// a head. The input x is the result of a norm, so |x|² is about the sum of the squares of the
/// norm's weights.
std::optional<TensorVariance> projectionVariance(const std::string& parameter,
                                                 const UnshardedStep& exact,
                                                 const std::vector<AttentionVariance>& variances);

}  // namespace ringscope::engine
