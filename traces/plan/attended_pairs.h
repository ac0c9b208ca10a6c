// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// The balance of a run that can be planned without data. Throws usageError for documents, and for
/// a length that the ranks cannot share.
Balance plannableBalance(const RunSpec& run);

/// The tokens of a rank of the cp group; all runs of a balance have the same stride.
std::vector<ShardRun> plannedRuns(const RunSpec& run, GroupRank rank, Balance balance);

/// (query, key) pairs that each rank of the cp group attends of the block of each other:
/// pairs[rank][source]. By the definition of the balances and masks, in closed form. Throws
/// usageError for documents, which only data know.
std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run);

/// The same where `ulysses` neighbouring ranks hold their shards together: pairs[ring][source].
std::vector<std::vector<std::int64_t>> joinedPairs(
    const std::vector<std::vector<std::int64_t>>& pairs, std::int32_t ulysses);

}  // namespace ringscope::traces
