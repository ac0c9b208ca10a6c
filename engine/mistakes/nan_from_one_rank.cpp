// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <limits>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The last cp rank's attention to its own block gives one NaN in the first layer.
void injectNanFromOneRank(Seams& seams) {
  extend(seams.attention.block, [](const SeamPlace& at, const Piece&, AttentionResult& block) {
    const bool here = at.place.layer == Layer::of(0) && at.cpRank().next().value() == at.mesh.cp;
    if (here && at.source_rank == at.cpRank())
      block.out[0][0][0].fill_(std::numeric_limits<double>::quiet_NaN());
  });
}

}  // namespace ringscope::engine
