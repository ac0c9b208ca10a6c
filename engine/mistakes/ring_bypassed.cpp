// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"
#include "engine/mistakes/wrapped_rotation.h"

namespace ringscope::engine {
namespace {

class NoHop : public WrappedRotation {
 public:
  using WrappedRotation::WrappedRotation;
  Exchange start() override { return {}; }
};

}  // namespace

/// The attention operator is another one, which knows of no ring: each rank attends to its own
/// block only, and nothing is sent.
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

}  // namespace ringscope::engine
