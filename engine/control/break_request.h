// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "engine/control/gate.h"
#include "traces/schema/records.h"

namespace ringscope::engine {

/// What a `break` request asks for: a place, the first error beyond a multiple of its noise floor,
/// or the first tensor that is not finite.
struct BreakRequest {
  std::optional<BreakPoint> place;  ///< nothing: at no place
  bool on_divergence = false, on_non_finite = false;
  double multiple = traces::kNoiseLimit;

  /// From {"at": {"train_step", "layer", "direction", "stage"} (all optional) | null,
  /// "on": "divergence" | "non_finite" | absent, "multiple": above 0}. Throws usageError.
  static BreakRequest fromJson(const nlohmann::json& request);
};

}  // namespace ringscope::engine
