// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "engine/mistakes/refused_where.h"
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
  refuseWhere(seams, [](const traces::RunSpec& run) -> std::optional<std::string> {
    const bool hops = run.cp / traces::ulyssesSize(run) > 1 &&
                      run.strategy != traces::Strategy::kAllGather &&
                      run.rotate != traces::Rotate::kAllGather;
    if (hops) return {};
    return "dropped_hop changes nothing where no block hops from rank to rank; use several ranks, "
           "--strategy ring and --rotate p2p or alltoall";
  });
}

}  // namespace ringscope::engine
