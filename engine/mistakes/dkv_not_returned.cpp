// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "engine/mistakes/seams.h"
#include "engine/mistakes/wrapped_rotation.h"

namespace ringscope::engine {
namespace {

class WithoutLastHop : public WrappedRotation {
 public:
  /// A ring of n ranks needs n hops until a packet is home.
  WithoutLastHop(std::unique_ptr<Rotation> correct, std::size_t hops)
      : WrappedRotation(std::move(correct)), left_(hops) {}
  Exchange start() override { return --left_ > 0 ? correct_->start() : Exchange(); }

 private:
  std::size_t left_;
};

}  // namespace

/// The sums of dK and dV miss the hop home: each rank keeps those of the next rank's block.
void injectDkvNotReturned(Seams& seams) {
  seams.ring.dkv = [](const SeamPlace&, const RingSchedule& schedule,
                      std::unique_ptr<Rotation> correct) {
    return std::make_unique<WithoutLastHop>(std::move(correct), schedule.stages.size());
  };
}

}  // namespace ringscope::engine
