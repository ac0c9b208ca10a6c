// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Every dp rank takes the sequences of the first.
void injectSameBatchOnDpRanks(Seams& seams) {
  seams.data.batch = [](const SeamPlace& at, const BatchSource& source) {
    SeamPlace first = at;
    first.rank.dp = GroupRank::of(0);
    return DataSeams::ofDpRank(first, source);
  };
}

}  // namespace ringscope::engine
