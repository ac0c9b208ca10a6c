// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/format/schema/schedule_record.h"
#include "traces/plan/mask.h"
#include "traces/plan/mesh.h"
#include "traces/plan/schedule.h"

namespace ringscope::traces {

/// The inputs that determine the schedule of one rank's attention.
struct PlannedAttention {
  const ShardLayout& layout;  ///< the layout of the whole cp group
  const Mask& mask;
  Mesh mesh;
  WorldRank world_rank = WorldRank::of(0);
  int ulysses = 1;            ///< number of ranks that share heads
  bool all_gather = false;    ///< all blocks arrive at the first ring step
  bool joins_shards = false;  ///< ulysses and hybrid: ranks exchange sequence for heads and attend
                              ///< joined shards
  Order order = Order::kDiagonalFirst;
  std::int64_t query_heads = 1, kv_heads = 1;  ///< heads of the whole model
};

/// Returns the schedules of one rank, forward and backward, in the form of a recording. Pure.
std::vector<ScheduleRecord> plannedSchedules(const PlannedAttention& planned,
                                             std::int32_t train_step);

}  // namespace ringscope::traces
