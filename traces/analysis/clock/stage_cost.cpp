// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/stage_cost.h"

#include "traces/analysis/clock/fit_costs.h"

namespace ringscope::traces {
namespace {

CostParts partsOf(const StageSample& sample) {
  return {sample.calls, sample.flops,       sample.bytes,    sample.scores,
          sample.tiles, sample.small_flops, sample.far_bytes};
}

}  // namespace

void StageSample::add(const StageSample& more) {
  calls += more.calls;
  flops += more.flops;
  bytes += more.bytes;
  seconds += more.seconds;
  scores += more.scores;
  tiles += more.tiles;
  small_flops += more.small_flops;
  far_bytes += more.far_bytes;
}

bool StageSample::empty() const {
  return partsOf(*this) == CostParts{};
}

double StageCost::secondsOf(const StageSample& done) const {
  return traces::secondsOf(
      {fixed, per_flop, per_byte, per_score, per_tile, per_small_flop, per_far_byte},
      partsOf(done));
}

StageCost fitStageCost(const std::vector<StageSample>& samples) {
  std::vector<CostSample> rows;
  rows.reserve(samples.size());
  for (const StageSample& sample : samples) rows.push_back({partsOf(sample), sample.seconds});
  const CostParts cost = fitCosts(rows);
  return {cost[0], cost[1], cost[2], cost[3], cost[4], cost[5], cost[6]};
}

}  // namespace ringscope::traces
