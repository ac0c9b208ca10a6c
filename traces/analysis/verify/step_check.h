// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "traces/analysis/verify/recompute/step_result.h"

namespace ringscope::traces {

/// What is damaged is skipped, and said.
StepCheck checkStep(const Trace& trace, std::int32_t train_step);

nlohmann::json toJson(const StepCheck& check);
std::string toText(const StepCheck& check);

}  // namespace ringscope::traces
