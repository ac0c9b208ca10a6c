// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/analysis/doctor/target_weights.h"

namespace ringscope::traces {

/// Compares the weights of a batch entry's targets on all ranks that share it. They are kUnknown
/// when they are alike, when the recording does not have them by entry, or when each rank may have
/// documents of its own.
TargetWeights readEntryWeights(const Trace& trace, std::int32_t train_step,
                               const std::vector<WorldRank>& members);

}  // namespace ringscope::traces
