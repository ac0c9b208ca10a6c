// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of attention sinks of which only the first heads' get a gradient, as many as
/// one rank of a group has after an all-to-all. Each rank then used them for heads of its own.
std::optional<Finding> sinksOfFirstHeads(const Trace& trace);

}  // namespace ringscope::traces
