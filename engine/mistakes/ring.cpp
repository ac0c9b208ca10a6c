// SPDX-License-Identifier: Apache-2.0
// Mistakes in how KV blocks and the sums of dK and dV go round the ring.
#include <ATen/ATen.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "engine/mistakes/seams.h"
#include "engine/mistakes/wrapped_rotation.h"

namespace ringscope::engine {
namespace {

/// Sends nothing.
class NoHop : public WrappedRotation {
 public:
  using WrappedRotation::WrappedRotation;
  Exchange start() override { return {}; }
};

/// Does not post the last hop. A ring of n ranks needs n hops until a packet is home.
class WithoutLastHop : public WrappedRotation {
 public:
  WithoutLastHop(std::unique_ptr<Rotation> correct, std::size_t hops)
      : WrappedRotation(std::move(correct)), left_(hops) {}
  Exchange start() override { return --left_ > 0 ? correct_->start() : Exchange(); }

 private:
  std::size_t left_;
};

/// Does not post the first exchange, and keeps the held block.
class WithoutFirstHop : public WrappedRotation {
 public:
  using WrappedRotation::WrappedRotation;
  Exchange start() override { return dropped_ ? correct_->start() : Exchange(); }
  void advance() override {
    if (dropped_) return correct_->advance();
    dropped_ = true;
  }

 private:
  bool dropped_ = false;
};

/// Sends packets, and never goes on to the next one.
class FirstPacketForever : public WrappedRotation {
 public:
  using WrappedRotation::WrappedRotation;
  void advance() override {}
};

/// Lets packets travel as they should, and uses none of those that arrive.
class FirstPacketUsed : public WrappedRotation {
 public:
  using WrappedRotation::WrappedRotation;
  at::Tensor& held() override {
    if (!first_.defined()) first_ = correct_->held();
    return first_;
  }

 private:
  at::Tensor first_;
};

/// Sends K with heads and tokens in the wrong order of memory.
class SentByMemory : public WrappedRotation {
 public:
  explicit SentByMemory(std::unique_ptr<Rotation> correct)
      : WrappedRotation(std::move(correct)), own_(correct_->held()) {
    at::Tensor sent = own_.clone();
    sent[0].copy_(own_[0].transpose(1, 2).contiguous().view(own_[0].sizes()));
    correct_->held() = sent;
  }
  at::Tensor& held() override { return hops_ == 0 ? own_ : correct_->held(); }
  void advance() override {
    ++hops_;
    correct_->advance();
  }

 private:
  at::Tensor own_;
  int hops_ = 0;
};

}  // namespace

/// The attention operator does not use the ring: each rank attends to its own block only, and
/// nothing is sent.
void injectRingBypassed(Seams& seams) {
  extend(
      seams.attention.schedule, [](const SeamPlace&, const AttentionPlan&, RingSchedule& schedule) {
        std::erase_if(schedule.stages,
                      [&](const RingStage& stage) { return stage.source_rank != schedule.rank; });
        schedule.stages.front().ring_step = RingStep::of(0);
        schedule.stages.front().forwards_kv = false;
      });
  seams.ring.dkv = [](const SeamPlace&, const RingSchedule&, std::unique_ptr<Rotation> correct) {
    return std::make_unique<NoHop>(std::move(correct));
  };
}

/// KV goes round, but attention uses the block that it began with at every ring step.
void injectKvNotRotated(Seams& seams) {
  seams.ring.kv = [](const SeamPlace&, const RingSchedule&, std::unique_ptr<Rotation> correct) {
    return std::make_unique<FirstPacketForever>(std::move(correct));
  };
}

/// Backward's ring uses the block of its first step again and again; forward is exact.
void injectStaleKvInBackward(Seams& seams) {
  seams.ring.kv = [](const SeamPlace& at, const RingSchedule&,
                     std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    if (at.place.direction == traces::Direction::kForward) return correct;
    return std::make_unique<FirstPacketUsed>(std::move(correct));
  };
}

/// The sums of dK and dV miss the hop home: each rank keeps those of the next rank's block.
void injectDkvNotReturned(Seams& seams) {
  seams.ring.dkv = [](const SeamPlace&, const RingSchedule& schedule,
                      std::unique_ptr<Rotation> correct) {
    return std::make_unique<WithoutLastHop>(std::move(correct), schedule.stages.size());
  };
}

/// A rank posts neither send nor receive in the first ring step of one pass. Its neighbours take
/// its next messages for those, and in the end one waits for a message that never comes.
void injectDroppedHop(Seams& seams) {
  const auto dropped = std::make_shared<std::atomic<bool>>(false);
  seams.ring.kv = [before = seams.ring.kv, dropped](
                      const SeamPlace& at, const RingSchedule& schedule,
                      std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    auto rotation = before(at, schedule, std::move(correct));
    if (dropped->exchange(true)) return rotation;
    return std::make_unique<WithoutFirstHop>(std::move(rotation));
  };
}

/// K is sent from memory in which heads lie within tokens as if tokens lay within heads. The rank's
/// own block is read by its strides and is right.
void injectNonContiguousKv(Seams& seams) {
  seams.ring.kv = [](const SeamPlace&, const RingSchedule&,
                     std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    const at::Tensor& first = correct->held();
    // FP8's messages are bytes; a gather may begin with a block that is not here yet.
    if (!first.defined() || first.dim() != 5) return correct;
    return std::make_unique<SentByMemory>(std::move(correct));
  };
}

/// Blocks go to the previous rank instead of the next, while their sources and masks are computed
/// for the other direction.
void injectWrongRingDirection(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan&, RingSchedule& schedule) {
           std::swap(schedule.next_rank, schedule.previous_rank);
         });
}

/// The dp group is taken for the cp group, so each rank gets the blocks of another sequence.
void injectWrongProcessGroup(Seams& seams) {
  seams.ring.group = [](const SeamPlace&, MeshGroups& groups, std::vector<GroupRank> cp_ranks) {
    return Group(groups.dp(), std::move(cp_ranks));
  };
}

}  // namespace ringscope::engine
