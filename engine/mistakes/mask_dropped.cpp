// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The window does not reach the ring's kernels: every layer attends by the mask without it.
void injectMaskDropped(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan& plan, RingSchedule& schedule) {
           Mask mask = plan.mask;
           mask.window = 0;
           schedule.attendBy(plan.layout, mask);
         });
}

}  // namespace ringscope::engine
