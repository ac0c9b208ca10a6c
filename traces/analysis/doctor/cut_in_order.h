// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding when labels or position ids are those of equal parts in the sequence's order,
/// and the ranks' tokens are dealt otherwise. Their values show it, so no token map of theirs is
/// needed.
std::optional<Finding> cutInOrder(const Readings& readings);

}  // namespace ringscope::traces
