// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/verify/rounding_variance.h"
#include "engine/verify/unsharded_step.h"

namespace ringscope::engine {

/// What each layer's own attention rounds, carried on into the rows of the gradient of its q, k or
/// v projection (weight [N, hidden] or bias [N]): of each row, [N]. Nothing for other parameters,
/// and for q and k that pass a norm of their own. `variances`: of each layer.
///
/// A row is the sum over tokens of dq[t, n] · x[t], so its mean square error is the sum of those of
/// dq, spread evenly over a head's D rows by the rotation, times |x|²; x has passed a norm, so |x|²
/// is about the sum of the squares of the norm's weights.
std::optional<TensorVariance> projectionVariance(const std::string& parameter,
                                                 const UnshardedStep& exact,
                                                 const std::vector<AttentionVariance>& variances);

}  // namespace ringscope::engine
