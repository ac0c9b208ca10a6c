// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/scalar_check.h"

namespace ringscope::traces {

/// 2-norms of the recorded gradients after their sync, of one rank of each tp slice.
struct GradientNorms {
  double once = 0;  ///< what tp ranks hold alike counted once
  double held = 0;  ///< counted for each of them
};

/// Throws MissingValue, and inputError when values are damaged.
GradientNorms gradientNorms(const Trace& trace, std::int32_t train_step);

/// A norm, and what rounding explains of one that was logged from sums in fp32 or better.
Rounded roundedNorm(double norm);

/// The logged gradient norm against that of the recorded gradients, what tp ranks hold alike
/// counted once. Throws inputError when values are damaged.
ScalarCheck checkGradientNorm(const Trace& trace, std::int32_t train_step);

}  // namespace ringscope::traces
