// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of a result that each rank takes from the last one of its tokens. The gradient
/// of the last attention's output then has this row alone, in every batch entry of every rank.
std::optional<Finding> resultsOfOwnLastTokens(const Trace& trace);

}  // namespace ringscope::traces
