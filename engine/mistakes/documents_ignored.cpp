// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Attention does not get the borders of the documents that are packed into a sequence.
void injectDocumentsIgnored(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan& plan, RingSchedule& schedule) {
           Mask mask = plan.mask;
           mask.documents.clear();
           schedule.attendBy(plan.layout, mask);
         });
}

}  // namespace ringscope::engine
