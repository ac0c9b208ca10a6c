// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/schema/schedule_record.h"

namespace ringscope::traces {

/// Query heads that a rank attends; 1 where it is not recorded.
std::int64_t headsOf(const ScheduleRecord& schedule);

/// (query, key) pairs that a schedule attends, over its heads.
double workOf(const ScheduleRecord& schedule);

/// Mean over largest: 1 is balanced; 1 where there is none.
double balanceOf(const std::vector<double>& work);

}  // namespace ringscope::traces
