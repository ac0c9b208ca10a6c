// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// Reports whether only data say which pairs a run attends: its mask follows documents.
bool dependsOnDocuments(const RunSpec& run);

/// Returns the balance of a run that can be planned without data. Throws usageError for documents,
/// and for a length that the ranks cannot share.
Balance plannableBalance(const RunSpec& run);

/// Returns the number of (query, key) pairs that each rank of the cp group attends in the block of
/// each other, pairs[rank][source], in closed form. Throws what plannableBalance() throws.
std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run);

/// Returns the same for groups of `ulysses` neighbouring ranks that hold their shards together:
/// pairs[ring][source].
std::vector<std::vector<std::int64_t>> joinedPairs(
    const std::vector<std::vector<std::int64_t>>& pairs, std::int32_t ulysses);

}  // namespace ringscope::traces
