// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds a mistake, most of them in no catalogue, by what cannot be meant between the ranks of one
/// sequence. Examples are attention of documents that ends with a shard, common keys that count
/// once per rank, and merges that are a plain mean.
std::optional<Finding> unknownStructure(const Readings& readings);

}  // namespace ringscope::traces
