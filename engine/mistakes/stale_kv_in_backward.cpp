// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"
#include "engine/mistakes/wrapped_rotation.h"

namespace ringscope::engine {
namespace {

/// Packets travel as they should, and nobody looks at those that come.
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

}  // namespace

/// Backward's ring uses the block of its first step again and again; forward is exact.
void injectStaleKvInBackward(Seams& seams) {
  seams.ring.kv = [](const SeamPlace& at, const RingSchedule&,
                     std::unique_ptr<Rotation> correct) -> std::unique_ptr<Rotation> {
    if (at.place.direction == traces::Direction::kForward) return correct;
    return std::make_unique<FirstPacketUsed>(std::move(correct));
  };
}

}  // namespace ringscope::engine
