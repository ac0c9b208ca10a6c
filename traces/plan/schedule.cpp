// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/schedule.h"

#include "traces/plan/ring_order.h"

namespace ringscope::traces {
namespace {

/// Returns the schedule of a rank in the order of a ring.
RingSchedule schedule(const ShardLayout& layout, const Mask& mask, GroupRank rank,
                      const RingOrder& order) {
  RingSchedule s;
  s.rank = rank;
  s.next_rank = order.next(rank);
  s.previous_rank = order.previous(rank);
  for (int step = 0; step < order.size; ++step) {
    const GroupRank source = order.source(rank, step);
    s.stages.push_back(
        {RingStep::of(step), source, piecesFor(layout, mask, rank, source), step + 1 < order.size});
  }
  return s;
}

}  // namespace

RingOrder RingOrder::of(int size, Direction direction, Order order) {
  const bool diagonal_last = direction == Direction::kBackward && order == Order::kDiagonalLast;
  return diagonal_last ? RingOrder{size, -1, 1} : RingOrder{size, 1, 0};
}

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
  return schedule(layout, mask, rank,
                  RingOrder::of(layout.cpSize(), Direction::kForward, Order::kDiagonalFirst));
}

RingSchedule ringBackwardSchedule(const ShardLayout& layout, const Mask& mask, GroupRank rank,
                                  Order order) {
  return schedule(layout, mask, rank, RingOrder::of(layout.cpSize(), Direction::kBackward, order));
}

ExpectedHops expectedHops(bool all_gather, Order order, int ring, int ulysses) {
  const int last_home = all_gather || order == Order::kDiagonalLast ? 0 : 1;
  return {ring - 1, ring - 1, ring == 1 ? 0 : ring - 1 + last_home, 3 * (ulysses - 1),
          2 * (ulysses - 1)};
}

}  // namespace ringscope::traces
