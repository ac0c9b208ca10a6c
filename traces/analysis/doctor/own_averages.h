// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds ranks of one sequence that each divide a part of the loss by a count of their own tokens,
/// or that normalise a value per token by its mean and deviation over their own tokens.
std::optional<Finding> averageOfOwnTokens(const Trace& trace);

}  // namespace ringscope::traces
