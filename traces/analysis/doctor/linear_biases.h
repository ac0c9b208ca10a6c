// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of linear biases (ALiBi) by distances within blocks. Rows of the first rank,
/// which attend its own keys alone, show the slope of each head. Rows of all other ranks must agree
/// with these slopes and distances of local indices, and not with distances in the sequence.
std::optional<Finding> ringOfLocalDistances(const Trace& trace);

}  // namespace ringscope::traces
