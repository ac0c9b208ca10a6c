// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// Returns the number of query heads that a rank attends; 1 when it is not recorded.
std::int64_t headsFor(const ScheduleRecord& schedule);

/// Returns the number of (query, key) pairs of one sequence that a rank attends, per query head.
/// Ranks of a Ulysses group attend the same pairs, each for its share of the heads, so each rank
/// counts its share of the pairs. The sum over the ranks of a cp group is the number of pairs that
/// the mask allows.
double pairsPerHead(const ScheduleRecord& schedule);
/// Returns the number of ranks that share the query heads, at least 1.
double headSharers(const ScheduleRecord& schedule);

/// Returns mean ÷ largest of the ranks' work. 1 means balanced; without any work the result is 1.
double balanceFrom(const std::vector<double>& work);

}  // namespace ringscope::traces
