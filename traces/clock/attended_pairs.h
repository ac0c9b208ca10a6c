// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/schema/run_spec.h"

namespace ringscope::traces {

/// (query, key) pairs that each rank of the cp group attends of the block of each other:
/// pairs[rank][source]. By the definition of the balances and masks, in closed form. Throws
/// usageError for documents, which only data know.
std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run);

/// The same where `ulysses` neighbouring ranks hold their shards together: pairs[ring][source].
std::vector<std::vector<std::int64_t>> joinedPairs(
    const std::vector<std::vector<std::int64_t>>& pairs, std::int32_t ulysses);

}  // namespace ringscope::traces
