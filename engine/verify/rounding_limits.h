// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/verify/rounding_variance.h"

namespace ringscope::engine {

/// Returns the largest difference from the reference, in 2-norm, that rounding explains in each
/// row. The result is in fp64 and has the shape of the rows. `device` is the tensor as one device
/// computes it. With `propagated`, errors also arrived with the inputs.
at::Tensor rowLimits(const at::Tensor& reference, const at::Tensor& device,
                     const TensorVariance* variance = nullptr, bool propagated = false);

/// The same for the rows of a parameter's gradient, [N, D] or [N], end to end.
at::Tensor parameterLimits(const at::Tensor& reference, const at::Tensor& device,
                           const TensorVariance* variance = nullptr);

}  // namespace ringscope::engine
