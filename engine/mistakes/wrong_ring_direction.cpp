// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Blocks go to the previous rank instead of the next, while their sources and masks are computed
/// for the other direction.
void injectWrongRingDirection(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan&, RingSchedule& schedule) {
           std::swap(schedule.next_rank, schedule.previous_rank);
         });
}

}  // namespace ringscope::engine
