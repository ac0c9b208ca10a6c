// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// Query heads that a rank attends; 1 where it is not recorded.
std::int64_t headsOf(const ScheduleRecord& schedule);

/// The (query, key) pairs of one sequence that a rank attends, per query head. Ranks of a Ulysses
/// group attend the same pairs, each for its share of the heads, so each counts that share. The sum
/// over the ranks of a cp group is the number of pairs that the mask has.
double pairsPerHead(const ScheduleRecord& schedule);
/// The number of ranks that share the query heads, at least 1.
double headSharers(const ScheduleRecord& schedule);

/// Mean over largest: 1 is balanced; 1 where there is none.
double balanceOf(const std::vector<double>& work);

}  // namespace ringscope::traces
