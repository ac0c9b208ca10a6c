// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// Dropout of attention weights: keptPairs() in dropout.h makes of it which pairs are dropped.
/// Seeds of layers and training steps are made of the run's.
struct Dropout {
  double p = 0;  ///< chance that a pair is dropped; the others weigh 1 / (1 − p)
  std::uint64_t seed = 0;
};

/// How scores become weights, and by which operator.
struct Softmax {
  double scale = 1;
  Dropout dropout;
  traces::Kernel kernel = traces::Kernel::kAuto;
};

}  // namespace ringscope::engine
