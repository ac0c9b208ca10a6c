// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of a result that each rank takes from the last token of its own: the gradient
/// of the last attention's output has this row alone, in every batch entry of every rank.
std::optional<Finding> resultsOfOwnLastTokens(const Trace& trace);

}  // namespace ringscope::traces
