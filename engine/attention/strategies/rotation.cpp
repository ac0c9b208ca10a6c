// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/rotation.h"

#include <ATen/ATen.h>

#include <array>

#include "engine/observe/memory_tracker.h"
#include "traces/plan/strategy.h"

namespace ringscope::engine {
namespace {

at::Tensor inFlightLike(const at::Tensor& packet) {
  const MemoryScope scope(MemoryCategory::kInFlight);
  return at::empty_like(packet);
}

/// Returns the order that avoids a deadlock. Even ranks send first and odd ranks receive first, so
/// of two waiting neighbours at least one can go on. In a ring of odd size, the last rank sends
/// late.
Posting postingOf(traces::PointToPoint p2p, GroupRank rank) {
  if (p2p == traces::PointToPoint::kBatched) return Posting::kTogether;
  return rank.value() % 2 == 0 ? Posting::kSendsFirst : Posting::kReceivesFirst;
}

/// A rotation that moves packets to the next rank, by a message or by an all-to-all with one part.
class HopRotation : public Rotation {
 public:
  HopRotation(bool all_to_all, Posting posting, const Group& group, GroupRank next,
              GroupRank previous, at::Tensor first)
      : all_to_all_(all_to_all),
        posting_(posting),
        group_(group),
        next_(next),
        previous_(previous),
        held_(std::move(first)) {}

  at::Tensor& held() override { return held_; }
  Exchange start() override {
    at::Tensor& buffer = buffers_[static_cast<std::size_t>(turn_)];
    if (!buffer.defined()) buffer = inFlightLike(held_);
    arriving_ = buffer;
    turn_ ^= 1;
    if (!all_to_all_) return group_.exchange({{held_, next_}}, {{arriving_, previous_}}, posting_);
    std::vector<at::Tensor> sends(static_cast<std::size_t>(group_.size())), receives(sends);
    sends[next_.index()] = held_;
    receives[previous_.index()] = arriving_;
    return group_.allToAll(sends, receives);
  }
  void advance() override { held_ = arriving_; }

 private:
  bool all_to_all_;
  Posting posting_;
  const Group& group_;
  GroupRank next_, previous_;
  at::Tensor held_, arriving_;
  std::array<at::Tensor, 2> buffers_;
  int turn_ = 0;
};

/// A rotation that receives all packets at the first start; advance() then selects the next one.
class GatherRotation : public Rotation {
 public:
  GatherRotation(const Group& group, const RingSchedule& schedule, at::Tensor first)
      : group_(group), schedule_(schedule), packets_(static_cast<std::size_t>(group.size())) {
    mine() = std::move(first);
  }

  at::Tensor& held() override { return packets_[schedule_.stages[step_].source_rank.index()]; }
  Exchange start() override {
    if (gathered_) return {};
    gathered_ = true;
    std::vector<at::Tensor> sends(packets_.size(), mine()), receives(packets_.size());
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      if (i != group_.rank().index()) packets_[i] = inFlightLike(mine());
      receives[i] = packets_[i];
    }
    sends[group_.rank().index()] = at::Tensor();
    return group_.allToAll(sends, receives);
  }
  void advance() override { ++step_; }

 private:
  at::Tensor& mine() { return packets_[group_.rank().index()]; }

  const Group& group_;
  const RingSchedule& schedule_;
  std::vector<at::Tensor> packets_;
  std::size_t step_ = 0;
  bool gathered_ = false;
};

}  // namespace

std::unique_ptr<Rotation> makeRotation(Rotate rotate, const Group& group,
                                       const RingSchedule& schedule, at::Tensor first,
                                       traces::PointToPoint p2p) {
  const traces::PacketRoute route = traces::packetRoute(rotate);
  if (route == traces::PacketRoute::kGather)
    return std::make_unique<GatherRotation>(group, schedule, std::move(first));
  return std::make_unique<HopRotation>(route == traces::PacketRoute::kAllToAll,
                                       postingOf(p2p, group.rank()), group, schedule.next_rank,
                                       schedule.previous_rank, std::move(first));
}

}  // namespace ringscope::engine
