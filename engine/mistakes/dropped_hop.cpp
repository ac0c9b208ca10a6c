// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "engine/mistakes/seams.h"
#include "engine/mistakes/wrapped_rotation.h"

namespace ringscope::engine {
namespace {

/// Its first exchange is not posted, and the held block stays.
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

}  // namespace

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

}  // namespace ringscope::engine
