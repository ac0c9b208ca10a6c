// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/analysis/verify/recompute/loss.h"

// Losses that are not the mean over all targets. Limits are as those of meanOverTargets().
namespace ringscope::traces {

/// Over the targets of one rank; NaN where it has none.
Rounded meanOfRank(const RankLoss& rank);

/// The mean of what each rank has as its own. Ranks without a target add 0, and are `counted` or
/// not. NaN where none counts.
Rounded meanOfMeans(const std::vector<RankLoss>& ranks, bool counted);

}  // namespace ringscope::traces
