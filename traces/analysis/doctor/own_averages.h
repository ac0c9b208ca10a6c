// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds ranks of one sequence that average over their own tokens alone. Each of them divides a
/// part of the loss by a count of its own, or normalises a value per token.
std::optional<Finding> averageOfOwnTokens(const Trace& trace);

/// Finds ranks that clip by the norm of their own parts of the gradients, which then is the same on
/// all ranks.
std::optional<Finding> clippedByOwnNorm(const Trace& trace);

}  // namespace ringscope::traces
