// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/attention/mask.h"
#include "engine/attention/schedule.h"
#include "engine/sharding/mesh.h"
#include "traces/schema/schedule_record.h"

namespace ringscope::engine {

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
std::vector<traces::ScheduleRecord> plannedSchedules(const PlannedAttention& planned,
                                                     std::int32_t train_step);

}  // namespace ringscope::engine
