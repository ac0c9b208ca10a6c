// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds ranks whose queries attend the same values of more tokens than they own, but not the same
/// keys. No group needs to be known, because equal values show that the ranks share a sequence.
std::optional<Finding> unlikeSharedKeys(const Trace& trace);

}  // namespace ringscope::traces
