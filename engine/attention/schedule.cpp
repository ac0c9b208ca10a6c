// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/schedule.h"

#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

constexpr std::pair<Rotate, const char*> kRotateNames[] = {
    {Rotate::kP2p, "p2p"}, {Rotate::kAllGather, "allgather"}, {Rotate::kAllToAll, "alltoall"}};
constexpr std::pair<Order, const char*> kOrderNames[] = {{Order::kDiagonalFirst, "diagonal_first"},
                                                         {Order::kDiagonalLast, "diagonal_last"}};

template <typename Names>
const char* nameIn(const Names& names, auto value) {
  for (const auto& [v, text] : names)
    if (v == value) return text;
  return "";
}

template <typename Names>
auto parseIn(const Names& names, const std::string& what, const std::string& asked) {
  std::string known;
  for (const auto& [value, text] : names) {
    if (asked == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw usageError("there is no " + what + " '" + asked + "'; use " + known);
}

RingSchedule schedule(const ShardLayout& layout, const Mask& mask, int rank, int towards,
                      int first_source) {
  const int size = layout.cpSize();
  auto wrapped = [size](int r) { return (r % size + size) % size; };
  RingSchedule s;
  s.rank = rank;
  s.next_rank = wrapped(rank + towards);
  s.previous_rank = wrapped(rank - towards);
  for (int step = 0; step < size; ++step) {
    const int source = wrapped(first_source - towards * step);
    s.stages.push_back({step, source, piecesFor(layout, mask, rank, source), step + 1 < size});
  }
  return s;
}

}  // namespace

const char* name(Rotate rotate) {
  return nameIn(kRotateNames, rotate);
}
Rotate parseRotate(const std::string& asked) {
  return parseIn(kRotateNames, "rotate", asked);
}
const char* name(Order order) {
  return nameIn(kOrderNames, order);
}
Order parseOrder(const std::string& asked) {
  return parseIn(kOrderNames, "order", asked);
}

std::int64_t RingSchedule::work() const {
  std::int64_t pairs = 0;
  for (const RingStage& stage : stages)
    for (const Piece& piece : stage.pieces) pairs += piece.work();
  return pairs;
}

RingSchedule ringSchedule(const ShardLayout& layout, const Mask& mask, int rank) {
  return schedule(layout, mask, rank, 1, rank);
}

RingSchedule ringBackwardSchedule(const ShardLayout& layout, const Mask& mask, int rank,
                                  Order order) {
  if (order == Order::kDiagonalFirst) return ringSchedule(layout, mask, rank);
  return schedule(layout, mask, rank, -1, rank + 1);
}

ExpectedHops expectedHops(bool all_gather, Order order, int ring, int ulysses) {
  const int last_home = all_gather || order == Order::kDiagonalLast ? 0 : 1;
  return {ring - 1, ring - 1, ring == 1 ? 0 : ring - 1 + last_home, 3 * (ulysses - 1),
          2 * (ulysses - 1)};
}

}  // namespace ringscope::engine
