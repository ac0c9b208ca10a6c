// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/format/schema/schedule_record.h"
#include "traces/plan/mask.h"
#include "traces/plan/mesh.h"
#include "traces/plan/schedule.h"

namespace ringscope::traces {

/// What the schedule of one rank's attention depends on.
struct PlannedAttention {
  const ShardLayout& layout;  ///< of the whole cp group
  const Mask& mask;
  Mesh mesh;
  WorldRank world_rank = WorldRank::of(0);
  int ulysses = 1;            ///< ranks that share heads
  bool all_gather = false;    ///< all blocks come at the first ring step
  bool joins_shards = false;  ///< ulysses and hybrid, which turn joined shards into heads
  Order order = Order::kDiagonalFirst;
  std::int64_t query_heads = 1, kv_heads = 1;  ///< of the whole model
};

/// The schedules of one rank, forward and backward, as recordings keep them. Pure.
std::vector<ScheduleRecord> plannedSchedules(const PlannedAttention& planned,
                                             std::int32_t train_step);

}  // namespace ringscope::traces
