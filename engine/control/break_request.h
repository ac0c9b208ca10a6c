// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "engine/control/gate.h"

namespace ringscope::engine {

/// What a `break` request asks for: a place, or the first error beyond the noise limit.
struct BreakRequest {
  std::optional<BreakPoint> place;  ///< nothing: at no place
  bool on_divergence = false;

  /// From {"at": {"train_step", "layer", "direction", "stage"} (all optional) | null,
  /// "on": "divergence" | absent}. Throws usageError.
  static BreakRequest fromJson(const nlohmann::json& request);
};

}  // namespace ringscope::engine
