// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/work.h"

#include <algorithm>
#include <numeric>

#include "traces/format/schema/band.h"

namespace ringscope::traces {

std::int64_t headsFor(const ScheduleRecord& schedule) {
  return std::max<std::int64_t>(1, schedule.q_head_end - schedule.q_head_begin);
}

double headSharers(const ScheduleRecord& schedule) {
  return static_cast<double>(std::max<std::size_t>(1, schedule.ulysses.size()));
}

double pairsPerHead(const ScheduleRecord& schedule) {
  double pairs = 0;
  for (const auto& stage : schedule.stages)
    for (const auto& piece : stage.pieces) pairs += Band::of(piece).pairs();
  return pairs / headSharers(schedule);
}

double balanceFrom(const std::vector<double>& work) {
  const double largest = work.empty() ? 0 : *std::ranges::max_element(work);
  if (largest <= 0) return 1;
  return std::accumulate(work.begin(), work.end(), 0.0) / static_cast<double>(work.size()) /
         largest;
}

}  // namespace ringscope::traces
