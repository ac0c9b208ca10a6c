// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/score_rule.h"

namespace ringscope::engine {

/// Dropout of attention weights. keptPairs() in dropout.h derives the dropped pairs from it. The
/// seeds of layers and training steps are derived from the run's seed.
struct Dropout {
  double p = 0;  ///< probability that a pair is dropped; other pairs are scaled by 1 / (1 − p)
  std::uint64_t seed = 0;
};

/// The options that turn products q·k into weights.
struct Softmax {
  traces::ScoreRule rule{.scale = 1};
  Dropout dropout;
  traces::Kernel kernel = traces::Kernel::kAuto;

  /// Reports whether plain matrix products attend the pieces on every device.
  bool isPlain() const {
    return dropout.p > 0 || rule.softcap > 0 || kernel == traces::Kernel::kMath;
  }
};

}  // namespace ringscope::engine
