// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds the place of a mistake that is in no catalogue by what cannot be meant between the ranks of
/// one sequence: attention of documents that ends with a shard, common keys that count once per
/// rank, and results of each rank's own last token.
std::optional<Finding> unknownStructure(const Readings& readings);

}  // namespace ringscope::traces
