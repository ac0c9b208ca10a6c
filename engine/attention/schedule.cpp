// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/schedule.h"

namespace ringscope::engine {

std::int64_t RingSchedule::work() const {
  std::int64_t pairs = 0;
  for (const RingStage& stage : stages)
    for (const Piece& piece : stage.pieces) pairs += piece.work();
  return pairs;
}

RingSchedule ringSchedule(const ShardLayout& layout, Mask mask, int rank) {
  const int cp_size = layout.cpSize();
  RingSchedule schedule;
  schedule.rank = rank;
  schedule.next_rank = (rank + 1) % cp_size;
  schedule.previous_rank = (rank + cp_size - 1) % cp_size;
  for (int step = 0; step < cp_size; ++step) {
    RingStage stage;
    stage.ring_step = step;
    stage.source_rank = (rank - step + cp_size) % cp_size;
    stage.pieces = piecesFor(layout, mask, rank, stage.source_rank);
    stage.forwards_kv = step + 1 < cp_size;
    schedule.stages.push_back(std::move(stage));
  }
  return schedule;
}

ExpectedHops expectedHops(int cp_size) {
  return {cp_size - 1, cp_size - 1, cp_size == 1 ? 0 : cp_size};
}

}  // namespace ringscope::engine
