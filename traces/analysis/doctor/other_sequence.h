// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/attention_passes.h"
#include "traces/analysis/doctor/coverage_tally.h"

namespace ringscope::traces {

/// The first rank of another sequence whose declared mask these ranks follow pair by pair, where no
/// recorded token ids tell the two sequences apart; none: there is no such sequence. Ranks that
/// read the batch of another dp rank attend so, and nothing is wrong with their mask.
WorldRank otherSequenceFollowed(const Trace& trace, CoverageCounter& counter,
                                const AttentionPass& pass, const std::vector<WorldRank>& members);

}  // namespace ringscope::traces
