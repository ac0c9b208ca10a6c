// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The sampler deals batches to cp ranks too, as if they were dp ranks.
void injectDifferentBatchesOnCpRanks(Seams& seams) {
  seams.data.batch = [](const SeamPlace& at, const BatchSource& source) {
    SeamPlace dealt = at;
    dealt.place.train_step = at.place.train_step * at.mesh.cp + at.cpRank().value();
    return DataSeams::ofDpRank(dealt, source);
  };
}

}  // namespace ringscope::engine
