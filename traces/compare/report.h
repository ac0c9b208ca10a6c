// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "traces/compare/run_comparison.h"

namespace ringscope::traces {

/// "step 0 › layer 1 › forward, out"
std::string describe(const TensorDifference& difference);
/// "sequence 0, head 2, token 17, rank 1 against rank 0"; empty where nothing is known of it.
std::string describeWhere(const TensorDifference& difference);

/// What differs of the settings, a line for each tensor at its worst training step, the first that
/// differs, where differences grow most, and what was left out.
std::string toText(const RunComparison& comparison);
nlohmann::json toJson(const RunComparison& comparison);

}  // namespace ringscope::traces
