// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Blocks of other ranks are attended whole, later tokens in them too.
void injectNoSkipFutureBlock(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan& plan, RingSchedule& schedule) {
           const std::int64_t rows = plan.layout.localLength();
           for (RingStage& stage : schedule.stages)
             if (stage.source_rank != schedule.rank) stage.pieces = {Piece{0, rows, 0, rows}};
         });
}

}  // namespace ringscope::engine
