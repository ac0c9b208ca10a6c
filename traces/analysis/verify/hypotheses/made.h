// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "traces/analysis/mistakes/catalogue/hypothesis_functions.h"
#include "traces/analysis/verify/hypotheses/hypothesis.h"

// Parts that the functions of several hypotheses share.
namespace ringscope::traces {

/// Returns the planned attention, block by block.
BlockedAttention asPlanned(const HypothesisSetting& setting);

/// Decides whether a query attends a key. `seat`: the rank that attends the query; null: nobody.
using PairFilter =
    std::function<bool(const PlannedBlocks::Seat* seat, std::size_t query, std::size_t key)>;
/// Returns attention in which every query attends the keys that a filter allows, in one block.
BlockedAttention attending(const HypothesisSetting& setting, PairFilter allowed);

}  // namespace ringscope::traces
