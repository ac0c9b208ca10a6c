// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/tensors/difference_totals.h"

namespace ringscope::engine {

/// actual: any floating type; reference: the same shape in fp64, on the same device.
DifferenceTotals differenceTotals(const at::Tensor& actual, const at::Tensor& reference);

}  // namespace ringscope::engine
