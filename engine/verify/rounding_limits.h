// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/verify/rounding_variance.h"

namespace ringscope::engine {

/// What rounding explains in each row: largest 2-norms of the difference from the reference, fp64,
/// shaped as the rows; `device`: the same by one device. `propagated`: errors that came with the
/// inputs are in it too.
at::Tensor rowLimits(const at::Tensor& reference, const at::Tensor& device,
                     const TensorVariance* variance = nullptr, bool propagated = false);

/// The same for the rows of a parameter's gradient, [N, D] or [N], end to end.
at::Tensor parameterLimits(const at::Tensor& reference, const at::Tensor& device,
                           const TensorVariance* variance = nullptr);

}  // namespace ringscope::engine
