// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <limits>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// A rank's attention to its own block gives one NaN.
void injectNanFromOneRank(Seams& seams) {
  extend(seams.attention.block, [](const SeamPlace& at, const Piece&, AttentionResult& block) {
    if (at.source_rank == at.cpRank())
      block.out[0][0][0].fill_(std::numeric_limits<double>::quiet_NaN());
  });
}

}  // namespace ringscope::engine
