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

/// Everything in a recording that can be computed again, compared with its recorded values.
struct TraceCheck {
  std::vector<LayerCheck> layers;   ///< one for each pass and each group that shares a sequence
  std::vector<StepCheck> steps;     ///< the steps in which a layer was recorded with values
  std::int64_t without_values = 0;  ///< number of layer passes that were recorded without values

  /// Returns how many rows and numbers were compared.
  std::int64_t compared() const;
  /// Returns whether everything that was compared is within its limit.
  bool right() const;
};

/// Checks attention only. The layers share `work` multiply-adds evenly. Skips damaged values and
/// lists them.
TraceCheck checkLayers(const Trace& trace, double work);
/// Checks attention as checkLayers() does, and the numbers of each step.
TraceCheck checkTrace(const Trace& trace, double work = kVerifyWork);

nlohmann::json toJson(const TraceCheck& check);
std::string toText(const TraceCheck& check);

}  // namespace ringscope::traces
