// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/between_cost.h"

#include <algorithm>

#include "traces/analysis/clock/fit_costs.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {

Packing packingOf(Payload payload, const RunSpec& run) {
  if (payload == Payload::kHeads) return Packing::kHeads;
  return hasRingHops(run) ? Packing::kRing : Packing::kGathered;
}

BetweenCost fitBetweenCost(const std::vector<BetweenSample>& samples) {
  std::vector<CostSample> rows;
  rows.reserve(samples.size());
  for (const BetweenSample& s : samples)
    rows.push_back(
        {{1, s.events, s.bytes, s.exchanges, s.packed[0], s.packed[1], s.packed[2]}, s.seconds});
  const CostParts cost = fitCosts(rows);
  BetweenCost found{cost[0], cost[1], cost[2], cost[3], {cost[4], cost[5], cost[6]}};
  const double slowest = std::ranges::max(found.per_packed_byte);
  for (std::size_t p = 0; p < kPackings; ++p)
    if (std::ranges::none_of(samples, [p](const BetweenSample& s) { return s.packed[p] > 0; }))
      found.per_packed_byte[p] = slowest;
  return found;
}

}  // namespace ringscope::traces
