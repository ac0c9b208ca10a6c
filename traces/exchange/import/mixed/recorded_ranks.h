// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/exchange/import/profile/job.h"
#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {

/// Returns the process groups, collectives and messages of a recorded job's ranks as other tools
/// record them. `start_ns` is the wall clock at which the run clock is 0.
std::vector<ProfiledRank> recordedRanks(const RecordedJob& job, std::int64_t start_ns);

}  // namespace ringscope::traces
