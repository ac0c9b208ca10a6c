// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "traces/analysis/verify/recompute/step_result.h"

namespace ringscope::traces {

/// Checks the numbers of one training step: its loss, gradients and norms. Skips damaged ones and
/// lists them.
StepCheck checkStep(const Trace& trace, std::int32_t train_step);

nlohmann::json toJson(const StepCheck& check);
std::string toText(const StepCheck& check);

}  // namespace ringscope::traces
