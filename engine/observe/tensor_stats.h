// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "traces/format/schema/records.h"

namespace ringscope::engine {

/// Returns statistics over the finite elements; min, max and mean are 0 if there are none.
traces::TensorStats computeStats(const at::Tensor& tensor);

}  // namespace ringscope::engine
