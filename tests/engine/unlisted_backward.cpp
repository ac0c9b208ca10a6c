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
using traces::Order;
using traces::RingStep;
using traces::Strategy;

constexpr auto kBackward = Direction::kBackward;

/// Changes the inputs of the gradients of one rank's block.
template <int kRank, int kLayer, int kStep, typename How>
void changeInputs(Seams& seams, How how) {
  extend(seams.attention.backward, [how](const SeamPlace& at, BackwardInputs& in) {
    if (isAt(at, kRank, kLayer, kBackward, kStep)) how(at, in);
  });
}

void blockLeftOut(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace& at, const AttentionPlan&, RingSchedule& schedule) {
           if (!isAt(at, 3, 1, kBackward, -1)) return;
           schedule.stages[2].pieces.clear();
         });
}

/// Computes dS = P ∘ (delta − dP) for the heads of one KV head in the block of one rank; dv is
/// right.
void signOfScores(Seams& seams) {
  changeInputs<1, 0, -1>(seams, [](const SeamPlace& at, BackwardInputs& in) {
    if (at.source_rank != GroupRank::of(2)) return;
    const std::int64_t group = in.q.size(1) / in.k.size(1);
    in.v = in.v.clone();
    in.v.select(1, 1).neg_();
    in.result.out = in.result.out.clone();
    in.result.out.slice(1, group, 2 * group).neg_();
  });
}

/// Multiplies k by the score scale before the kernel and divides q by it: dq has the scale twice,
/// dk lacks it.
void scaleOnTheWrongSide(Seams& seams) {
  changeInputs<2, 0, 1>(seams, [](const SeamPlace&, BackwardInputs& in) {
    in.q = in.q / in.rule.scale;
    in.k = in.k * in.rule.scale;
  });
}

void lseOfNextRow(Seams& seams) {
  changeInputs<3, 1, 1>(seams, [](const SeamPlace&, BackwardInputs& in) {
    in.result.lse = in.result.lse.roll(-1, 2).contiguous();
  });
}

/// A rotation that returns (dV, dK) after everything is summed and recorded.
class Exchanged : public WrappedRotation {
 public:
  using WrappedRotation::WrappedRotation;
  at::Tensor& held() override {
    constexpr int kStoreAndRecord = 2;
    if (++asked_ <= kStoreAndRecord) return WrappedRotation::held();
    taken_ = WrappedRotation::held().flip(0);
    return taken_;
  }

 private:
  int asked_ = 0;
  at::Tensor taken_;
};

void dkAndDvExchanged(Seams& seams) {
  seams.ring.dkv = [](const SeamPlace& at, const RingSchedule&,
                      std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    if (!isAt(at, 1, 1, kBackward, -1)) return correct;
    return std::make_unique<Exchanged>(std::move(correct));
  };
}

/// A rotation that changes the sums before or after one hop.
class ChangedHop : public WrappedRotation {
 public:
  using Change = void (*)(at::Tensor& sums);
  ChangedHop(std::unique_ptr<Rotation> correct, int hop, Change before, Change after)
      : WrappedRotation(std::move(correct)), hop_(hop), before_(before), after_(after) {}
  Exchange start() override {
    if (hops_ == hop_) before_(correct_->held());
    return WrappedRotation::start();
  }
  void advance() override {
    WrappedRotation::advance();
    if (hops_++ == hop_) after_(correct_->held());
  }

 private:
  int hop_, hops_ = 0;
  Change before_, after_;
};

template <int kRank, int kLayer, int kHop>
void changeHop(Seams& seams, ChangedHop::Change before, ChangedHop::Change after) {
  seams.ring.dkv = [=](const SeamPlace& at, const RingSchedule&,
                       std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    if (!isAt(at, kRank, kLayer, kBackward, -1)) return correct;
    return std::make_unique<ChangedHop>(std::move(correct), kHop, before, after);
  };
}

void nothing(at::Tensor&) {}

/// Sends the sums in bfloat16 from rank 1 after ring step 1. They are wrong on rank 0 at ring step
/// 2.
void hopInBfloat16(Seams& seams) {
  changeHop<1, 0, 1>(
      seams, [](at::Tensor& sums) { sums = sums.to(at::kBFloat16).to(sums.scalar_type()); },
      nothing);
}

/// Loses what others have summed when this rank adds its part.
void sumsOverwritten(Seams& seams) {
  changeHop<2, 1, 0>(seams, nothing, [](at::Tensor& sums) { sums.zero_(); });
}

}  // namespace

const std::vector<Unlisted>& unlistedOfBackward() {
  static const std::vector<Unlisted> kAll = {
      {"BlockLeftOut", [](TrainConfig& c) { c.dtype = DType::kBFloat16; }, blockLeftOut,
       WorldRank::of(3), Layer::of(1), kBackward, RingStep::of(2)},
      {"SignOfScores",
       [](TrainConfig& c) {
         c.strategy = Strategy::kAllGather;
         c.mask = MaskKind::kFull;
         c.balance = Balance::kNone;
       },
       signOfScores, WorldRank::of(1), Layer::of(0), kBackward, RingStep::none(),
       "of the block of rank 2"},
      {"DkAndDvExchanged",
       [](TrainConfig& c) {
         c.cp = 2;
         c.strategy = Strategy::kUlysses;
         c.balance = Balance::kNone;
         c.dtype = DType::kFloat64;
       },
       dkAndDvExchanged, WorldRank::of(1), Layer::of(1), kBackward},
      {"ScaleOnTheWrongSide",
       [](TrainConfig& c) {
         c.strategy = Strategy::kHybrid;
         c.ulysses = 2;
       },
       scaleOnTheWrongSide, WorldRank::of(2), Layer::of(0), kBackward, RingStep::of(1)},
      {"LseOfNextRow",
       [](TrainConfig& c) {
         c.cp = c.dp = c.batch = 2;
         c.balance = Balance::kStriped;
       },
       lseOfNextRow, WorldRank::of(3), Layer::of(1), kBackward, RingStep::of(1)},
      {"HopInBfloat16", [](TrainConfig& c) { c.order = Order::kDiagonalLast; }, hopInBfloat16,
       WorldRank::of(0), Layer::of(0), kBackward, RingStep::of(2), " over what rank 1 had"},
      {"SumsOverwritten",
       [](TrainConfig& c) {
         c.cp = 3;
         c.mask = MaskKind::kFull;
         c.balance = Balance::kNone;
       },
       sumsOverwritten, WorldRank::of(2), Layer::of(1), kBackward, RingStep::of(1)},
  };
  return kAll;
}

}  // namespace ringscope::engine::test
