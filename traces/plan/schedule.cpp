// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/schedule.h"

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

/// Returns the schedule of a rank. `towards` is 1 or -1, the direction in which blocks travel.
RingSchedule schedule(const ShardLayout& layout, const Mask& mask, GroupRank rank, int towards,
                      GroupRank first_source) {
  const int size = layout.cpSize();
  RingSchedule s;
  s.rank = rank;
  s.next_rank = roundRing(rank, towards, size);
  s.previous_rank = roundRing(rank, -towards, size);
  for (int step = 0; step < size; ++step) {
    const GroupRank source = roundRing(first_source, -towards * step, size);
    s.stages.push_back(
        {RingStep::of(step), source, piecesFor(layout, mask, rank, source), step + 1 < size});
  }
  return s;
}

}  // namespace

std::int64_t RingSchedule::work() const {
  std::int64_t pairs = 0;
  for (const RingStage& stage : stages)
    for (const Piece& piece : stage.pieces) pairs += piece.work();
  return pairs;
}

void RingSchedule::attendBy(const ShardLayout& layout, const Mask& mask) {
  for (RingStage& stage : stages) stage.pieces = piecesFor(layout, mask, rank, stage.source_rank);
}

RingSchedule ringSchedule(const ShardLayout& layout, const Mask& mask, GroupRank rank) {
  return schedule(layout, mask, rank, 1, rank);
}

RingSchedule ringBackwardSchedule(const ShardLayout& layout, const Mask& mask, GroupRank rank,
                                  Order order) {
  if (order == Order::kDiagonalFirst) return ringSchedule(layout, mask, rank);
  return schedule(layout, mask, rank, -1, roundRing(rank, 1, layout.cpSize()));
}

ExpectedHops expectedHops(bool all_gather, Order order, int ring, int ulysses) {
  const int last_home = all_gather || order == Order::kDiagonalLast ? 0 : 1;
  return {ring - 1, ring - 1, ring == 1 ? 0 : ring - 1 + last_home, 3 * (ulysses - 1),
          2 * (ulysses - 1)};
}

}  // namespace ringscope::traces
