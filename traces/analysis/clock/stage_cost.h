// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "traces/analysis/clock/between_cost.h"
#include "traces/format/schema/event.h"

namespace ringscope::traces {

/// What stages of one kind did together, and how long they took.
struct StageSample {
  double calls = 0, flops = 0, bytes = 0;  ///< calls of attention's kernels; of others stages
  double seconds = 0;
  double scores = 0, tiles = 0;
  double small_flops = 0;  ///< that `flops` does not have
  double far_bytes = 0;    ///< of `bytes`, those that caches have lost since they were used before

  void add(const StageSample& more);
  /// Nothing was done.
  bool empty() const;
};

/// What one kind of stage takes on a device, in seconds: `fixed` for each call, and for each
/// floating-point operation of products, each byte of memory traffic, each score of attention,
/// whose exponential is none of these operations, each tile that its kernels go through, each
/// operation in float32 of a run in a narrower type, and each byte that is far once more. None is
/// below 0.
struct StageCost {
  double fixed = 0, per_flop = 0, per_byte = 0, per_score = 0, per_tile = 0, per_small_flop = 0;
  double per_far_byte = 0;

  /// Of what a sample did.
  double secondsOf(const StageSample& done) const;
};

/// As fitCosts(), see fit_costs.h.
StageCost fitStageCost(const std::vector<StageSample>& samples);

/// A device by what it was seen to take, in place of its peak rates.
struct MeasuredDevice {
  std::map<std::pair<EventKind, Direction>, StageCost> stages;
  BetweenCost between;
};

}  // namespace ringscope::traces
