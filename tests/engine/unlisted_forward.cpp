// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/wrapped_rotation.h"
#include "tests/engine/unlisted_mistakes.h"

namespace ringscope::engine::test {
namespace {

using traces::Balance;
using traces::Direction;
using traces::DType;
using traces::Layer;
using traces::MaskKind;
using traces::RingStep;
using traces::Rotate;
using traces::Strategy;

constexpr auto kForward = Direction::kForward;

/// Changes the results of one rank's pieces at one ring step of one layer.
template <int kRank, int kLayer, int kStep, typename How>
void changeBlock(Seams& seams, How how) {
  extend(seams.attention.block, [how](const SeamPlace& at, const Piece&, AttentionResult& block) {
    if (!isAt(at, kRank, kLayer, kForward, kStep)) return;
    block = {block.out.clone(), block.lse.clone()};
    how(block);
  });
}

/// Omits the remainder of head_dim in a kernel's vector loop.
void endOfHeadNotWritten(Seams& seams) {
  changeBlock<3, 0, 2>(seams,
                       [](AttentionResult& b) { b.out.slice(3, b.out.size(3) * 3 / 4).zero_(); });
}

/// Swaps the log-sum-exps of two heads, but not the outputs.
void lseOfSwappedHeads(Seams& seams) {
  changeBlock<2, 1, 1>(seams, [](AttentionResult& b) {
    b.lse = at::cat({b.lse.slice(1, 1, 2), b.lse.slice(1, 0, 1), b.lse.slice(1, 2)}, 1);
  });
}

/// Merges a right block one row too late; the last row wraps to the first.
void mergedOneRowLate(Seams& seams) {
  seams.attention.merge = [](const SeamPlace& at, RunningResult& sum, const AttentionResult& part,
                             std::int64_t q_begin) {
    const bool late = isAt(at, 0, 0, kForward, 2);
    mergeBlock(
        sum,
        late ? AttentionResult{part.out.roll(1, 2).contiguous(), part.lse.roll(1, 2).contiguous()}
             : part,
        q_begin);
  };
}

/// Starts the sum of weights at 1 instead of 0.
void sumBeginsAtOne(Seams& seams) {
  extend(seams.attention.running, [](const SeamPlace& at, RunningResult& running) {
    if (!isAt(at, 1, 1, kForward, 0)) return;
    const at::Tensor lse = at::logaddexp(running.lse, at::zeros_like(running.lse));
    running.out = running.out * at::exp(running.lse - lse).unsqueeze(-1);
    running.lse = lse;
  });
}

/// A rotation that reads the block of one ring step with V's heads in another order. The block that
/// is passed on is right.
class HeadsExchanged : public WrappedRotation {
 public:
  using WrappedRotation::WrappedRotation;
  at::Tensor& held() override {
    at::Tensor& right = WrappedRotation::held();
    if (hops_ != 1) return right;
    read_ = right.clone();
    read_[1].copy_(right[1].roll(1, 1));
    return read_;
  }
  void advance() override {
    WrappedRotation::advance();
    ++hops_;
  }

 private:
  int hops_ = 0;
  at::Tensor read_;
};

void vHeadsExchanged(Seams& seams) {
  seams.ring.kv = [](const SeamPlace& at, const RingSchedule&,
                     std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    if (!isAt(at, 2, 0, kForward, -1)) return correct;
    return std::make_unique<HeadsExchanged>(std::move(correct));
  };
}

/// Ends documents one token late in one layer's mask.
void borderOffByOne(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace& at, const AttentionPlan& plan, RingSchedule& schedule) {
           if (!isAt(at, 1, 1, kForward, -1)) return;
           Mask mask = plan.mask;
           for (std::size_t i = 1; i < mask.documents.size(); ++i)
             mask.documents[i - 1].end = ++mask.documents[i].begin;
           schedule.attendBy(plan.layout, mask);
         });
}

/// Widens the window by one key in one layer of all ranks.
void windowOneTooWide(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace& at, const AttentionPlan& plan, RingSchedule& schedule) {
           if (at.place.layer != Layer::of(0)) return;
           Mask mask = plan.mask;
           ++mask.window;
           schedule.attendBy(plan.layout, mask);
         });
}

/// Lists one of the pieces of a block twice.
void documentAttendedTwice(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace& at, const AttentionPlan&, RingSchedule& schedule) {
           if (!isAt(at, 1, 0, kForward, -1)) return;
           auto& pieces = schedule.stages.front().pieces;
           pieces.push_back(pieces.back());
         });
}

/// Rotates K by its positions a second time when it is packed for the ring.
void kRotatedTwice(Seams& seams) {
  seams.ring.kv = [](const SeamPlace& at, const RingSchedule&, std::unique_ptr<Rotation> correct) {
    if (!isAt(at, 3, 1, kForward, -1)) return correct;
    at::Tensor packet = correct->held().clone();
    const at::Tensor k = packet[0], angles = at::arange(k.size(2)).unsqueeze(-1) * 0.1;
    const auto halves = k.chunk(2, -1);
    packet[0].copy_(k * at::cos(angles) + at::cat({-halves[1], halves[0]}, -1) * at::sin(angles));
    correct->held() = packet;
    return correct;
  };
}

}  // namespace

const std::vector<Unlisted>& unlistedOfForward() {
  static const std::vector<Unlisted> kAll = {
      {"EndOfHeadNotWritten", [](TrainConfig& c) { c.dtype = DType::kBFloat16; },
       endOfHeadNotWritten, WorldRank::of(3), Layer::of(0), kForward, RingStep::of(2)},
      {"LseOfSwappedHeads",
       [](TrainConfig& c) {
         c.rotate = Rotate::kAllGather;
         c.balance = Balance::kNone;
         c.dtype = DType::kFloat64;
       },
       lseOfSwappedHeads, WorldRank::of(2), Layer::of(1), kForward, RingStep::of(1)},
      {"MergedOneRowLate",
       [](TrainConfig& c) {
         c.cp = 3;
         c.rotate = Rotate::kAllToAll;
         c.mask = MaskKind::kFull;
         c.balance = Balance::kNone;
       },
       mergedOneRowLate, WorldRank::of(0), Layer::of(0), kForward, RingStep::of(2)},
      {"SumBeginsAtOne", [](TrainConfig& c) { c.cp = 2; }, sumBeginsAtOne, WorldRank::of(1),
       Layer::of(1), kForward, RingStep::of(0)},
      {"VHeadsExchanged", [](TrainConfig& c) { c.balance = Balance::kStriped; }, vHeadsExchanged,
       WorldRank::of(2), Layer::of(0), kForward, RingStep::of(1)},
      {"BorderOffByOne",
       [](TrainConfig& c) {
         c.cp = 2;
         c.mask = MaskKind::kDocuments;
         c.balance = Balance::kPerDocument;
       },
       borderOffByOne, WorldRank::of(1), Layer::of(1)},
      {"WindowOneTooWide",
       [](TrainConfig& c) {
         c.cp = 2;
         c.strategy = Strategy::kAllGather;
         c.mask = MaskKind::kWindow;
         c.window = 12;
         c.balance = Balance::kNone;
       },
       windowOneTooWide, WorldRank::none(), Layer::of(0)},
      {"DocumentAttendedTwice",
       [](TrainConfig& c) {
         c.cp = 2;
         c.mask = MaskKind::kDocuments;
         c.balance = Balance::kNone;
       },
       documentAttendedTwice, WorldRank::of(1), Layer::of(0), kForward, RingStep::of(0)},
      {"KRotatedTwice",
       [](TrainConfig& c) {
         c.cp = c.tp = 2;
         c.dtype = DType::kBFloat16;
       },
       kRotatedTwice, WorldRank::of(3), Layer::of(1), kForward, RingStep::of(0)},
  };
  return kAll;
}

}  // namespace ringscope::engine::test
