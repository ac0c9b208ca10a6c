// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The groups of ranks that share a sequence (cp groups), in the order of their ids: what a window
/// lets one choose from, and what rules go through. Members are in the order of their group ranks.
/// A trace without recorded groups has one, of all its ranks.
std::vector<std::vector<WorldRank>> sequenceGroups(const Trace& trace);

}  // namespace ringscope::traces
