// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/scalar_check.h"

namespace ringscope::traces {

/// The 2-norms of the recorded gradients after their sync, over one rank per tp slice.
struct GradientNorms {
  double once = 0;  ///< gradients that tp ranks hold alike are counted once
  double held = 0;  ///< they are counted for each of these ranks
};

/// Returns the norms of a step. Throws MissingValue, and inputError when values are damaged.
GradientNorms gradientNorms(const Trace& trace, std::int32_t train_step);

/// Returns a norm with the error that rounding explains when it was computed from sums in fp32 or
/// better.
Rounded roundedNorm(double norm);

/// Compares the logged gradient norm with that of the recorded gradients; gradients that tp ranks
/// hold alike are counted once. Throws inputError when values are damaged.
ScalarCheck checkGradientNorm(const Trace& trace, std::int32_t train_step);

}  // namespace ringscope::traces
