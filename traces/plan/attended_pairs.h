// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/records.h"
#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// The number of (query, key) pairs that each rank of a cp group attends in the block of each
/// other: pairs[rank][source].
using PairTable = std::vector<std::vector<std::int64_t>>;

/// Reports whether only data say which pairs a run attends: its mask follows documents.
bool dependsOnDocuments(const RunSpec& run);

/// Returns the balance of a run that can be planned without data. Throws usageError for documents,
/// and for a length that the ranks cannot share.
Balance plannableBalance(const RunSpec& run);

/// Returns the pairs of a run in closed form. Throws what plannableBalance() throws.
PairTable attendedPairs(const RunSpec& run);
/// Returns the pairs of packed documents, causal within each document, when the ranks own these
/// tokens. All runs have the same stride. The documents are in ascending order; tokens between
/// documents attend nothing.
PairTable attendedPairs(const std::vector<std::vector<ShardRun>>& shards,
                        const std::vector<TokenRun>& documents);

/// Returns the same for groups of `ulysses` neighbouring ranks that hold their shards together:
/// pairs[ring][source].
PairTable joinedPairs(const PairTable& pairs, std::int32_t ulysses);

}  // namespace ringscope::traces
