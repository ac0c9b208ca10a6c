// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/step_check.h"

namespace ringscope::traces {

/// Multiply-adds that a whole trace may take: some ten seconds of one core.
inline constexpr double kVerifyWork = 1e10;

/// All that can be recomputed of a recording, against what it says.
struct TraceCheck {
  std::vector<LayerCheck> layers;   ///< of each pass and each group that shares a sequence
  std::vector<StepCheck> steps;     ///< in which a layer was recorded with values
  std::int64_t without_values = 0;  ///< passes of layers that were recorded without

  /// Rows and numbers that were compared.
  std::int64_t compared() const;
  /// Nothing that was compared is beyond its limit.
  bool right() const;
};

/// Checks attention only. `work`: shared out evenly among the layers. What is damaged is skipped,
/// and said.
TraceCheck checkLayers(const Trace& trace, double work);
/// Checks attention as checkLayers() does, and the numbers of each step.
TraceCheck checkTrace(const Trace& trace, double work = kVerifyWork);

nlohmann::json toJson(const TraceCheck& check);
std::string toText(const TraceCheck& check);

}  // namespace ringscope::traces
