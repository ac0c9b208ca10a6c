// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// Returns the balance of a run that can be planned without data. Throws usageError for
/// per_document, and for a length that the ranks cannot share evenly.
Balance plannableBalance(const RunSpec& run);

/// Returns the tokens of a rank of the cp group. All runs of a balance have the same stride.
std::vector<ShardRun> plannedRuns(const RunSpec& run, GroupRank rank, Balance balance);

/// Returns pairs[rank][source]: the number of (query, key) pairs that each rank of the cp group
/// attends of each rank's block. Computed in closed form from the definitions of the balances and
/// masks. Throws usageError for documents, because only the data say where they end.
std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run);

/// Returns pairs[ring][source] for groups of `ulysses` neighbouring ranks that join their shards.
std::vector<std::vector<std::int64_t>> joinedPairs(
    const std::vector<std::vector<std::int64_t>>& pairs, std::int32_t ulysses);

}  // namespace ringscope::traces
