// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/layer_plan.h"

#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

using Kind = LayerAction::Kind;

/// Writes the actions of one layer in one direction.
class ActionWriter {
 public:
  void post(int step, Cargo cargo, Receivers receivers) {
    actions_.push_back({Kind::kPost, RingStep::of(step), cargo, receivers, 0});
  }
  void wait(int step, Cargo cargo) {
    actions_.push_back({Kind::kWait, RingStep::of(step), cargo, {}, 0});
  }
  void exchange(int step, Cargo cargo, Receivers receivers) {
    post(step, cargo, receivers);
    wait(step, cargo);
  }
  void attend(int step, int block) {
    actions_.push_back({Kind::kAttend, RingStep::of(step), {}, {}, block});
  }
  void mergeGradients(int step, int blocks) {
    actions_.push_back({Kind::kMergeGradients, RingStep::of(step), {}, {}, blocks});
  }
  std::vector<LayerAction> take() { return std::move(actions_); }

 private:
  std::vector<LayerAction> actions_;
};

/// all_gather: the KV blocks of all ranks arrive first, and the gradients leave last.
void gatherBlocks(ActionWriter& writer, int rings, Direction direction) {
  if (rings > 1) writer.exchange(0, Cargo::kKv, Receivers::kRestOfRing);
  for (int block = 0; block < rings; ++block) writer.attend(0, block);
  if (direction == Direction::kForward || rings == 1) return;
  writer.exchange(0, Cargo::kDkv, Receivers::kRestOfRing);
  writer.mergeGradients(0, rings - 1);
}

/// A ring forward: KV moves on while the block before it is attended.
void passBlocks(ActionWriter& writer, int rings, bool gathers_once) {
  for (int step = 0; step < rings; ++step) {
    const bool moves = step + 1 < rings && (step == 0 || !gathers_once);
    if (moves)
      writer.post(step, Cargo::kKv, gathers_once ? Receivers::kRestOfRing : Receivers::kNextInRing);
    writer.attend(step, step);
    if (moves) writer.wait(step, Cargo::kKv);
  }
}

/// A ring backward: dK and dV follow the KV block from rank to rank until they reach its owner.
void returnGradients(ActionWriter& writer, int rings, bool gathers_once, bool diagonal_last,
                     bool merges) {
  const Receivers next = diagonal_last ? Receivers::kPreviousInRing : Receivers::kNextInRing;
  if (gathers_once && diagonal_last && rings > 1)
    writer.exchange(0, Cargo::kKv, Receivers::kRestOfRing);
  int returning = -1;  // the ring step at which dK and dV were posted
  for (int step = 0; step < rings; ++step) {
    const bool more = step + 1 < rings;
    const bool moves = more && (!gathers_once || (step == 0 && !diagonal_last));
    if (moves) writer.post(step, Cargo::kKv, gathers_once ? Receivers::kRestOfRing : next);
    writer.attend(step, step);
    if (returning >= 0) writer.wait(returning, Cargo::kDkv);
    if (merges) writer.mergeGradients(step, 1);
    returning = rings > 1 && (more || !diagonal_last) ? step : -1;
    if (returning >= 0) writer.post(step, Cargo::kDkv, next);
    if (moves) writer.wait(step, Cargo::kKv);
  }
  if (returning >= 0) writer.wait(returning, Cargo::kDkv);
}

}  // namespace

LayerPlan::LayerPlan(const RunSpec& run)
    : ulysses_(ulyssesSize(run)),
      rings_(run.cp / ulysses_),
      gathers_(!hasRingHops(run) && rings_ == run.cp),
      gathers_once_(run.rotate == Rotate::kAllGather),
      shares_sequence_(run.cp > 1),
      order_(run.order) {}

std::vector<LayerAction> LayerPlan::actions(Direction direction) const {
  ActionWriter writer;
  const auto swap_heads = [&](Cargo cargo) {
    if (ulysses_ > 1) writer.exchange(0, cargo, Receivers::kHeadSharers);
  };
  if (direction == Direction::kForward) {
    swap_heads(Cargo::kQkvHeads);
    gathers_ ? gatherBlocks(writer, rings_, direction) : passBlocks(writer, rings_, gathers_once_);
    swap_heads(Cargo::kOutHeads);
    swap_heads(Cargo::kLseHeads);
    return writer.take();
  }
  swap_heads(Cargo::kOutHeads);
  gathers_ ? gatherBlocks(writer, rings_, direction)
           : returnGradients(writer, rings_, gathers_once_, order_ == Order::kDiagonalLast,
                             shares_sequence_);
  swap_heads(Cargo::kGradHeads);
  return writer.take();
}

GroupRank LayerPlan::ringMember(GroupRank rank, GroupRank ring_rank) const {
  return GroupRank::of(ring_rank.value() * ulysses_ +
                       HybridPlace::of(rank, ulysses_).among_neighbours.value());
}

std::vector<GroupRank> LayerPlan::receivers(GroupRank rank, Receivers receivers) const {
  const GroupRank here = ringRank(rank);
  const auto ring_neighbour = [&](int hops) {
    return ringMember(rank, roundRing(here, hops, rings_));
  };
  std::vector<GroupRank> all;
  if (receivers == Receivers::kNextInRing) return {ring_neighbour(1)};
  if (receivers == Receivers::kPreviousInRing) return {ring_neighbour(-1)};
  if (receivers == Receivers::kRestOfRing) {
    for (int hops = 1; hops < rings_; ++hops) all.push_back(ring_neighbour(hops));
    return all;
  }
  const HybridPlace place = HybridPlace::of(rank, ulysses_);
  for (int i = 1; i < ulysses_; ++i)
    all.push_back(GroupRank::of(place.first_neighbour.value() +
                                roundRing(place.among_neighbours, i, ulysses_).value()));
  return all;
}

RingOrder LayerPlan::ringOrder(Direction direction) const {
  return RingOrder::of(rings_, gathers_ ? Direction::kForward : direction, order_);
}

GroupRank LayerPlan::blockOwner(GroupRank rank, int nth, Direction direction) const {
  return ringMember(rank, ringOrder(direction).source(ringRank(rank), nth));
}

}  // namespace ringscope::traces
