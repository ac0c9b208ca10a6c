// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/attention_passes.h"
#include "traces/analysis/doctor/coverage_tally.h"

namespace ringscope::traces {

/// Returns the first rank of another sequence whose declared mask these ranks follow pair by pair,
/// or no rank. Considers only sequences that no recorded token ids tell apart. Ranks that read the
/// batch of another dp rank attend like this, and nothing is wrong with their mask.
WorldRank otherSequenceFollowed(const Trace& trace, CoverageCounter& counter,
                                const AttentionPass& pass, const std::vector<WorldRank>& members);

}  // namespace ringscope::traces
