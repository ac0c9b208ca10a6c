// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cmath>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// A kernel gives its lse as a logarithm to base 2, and the merge takes it for a natural one.
void injectLseBase2(Seams& seams) {
  extend(seams.attention.block, [](const SeamPlace&, const Piece&, AttentionResult& block) {
    block.lse = block.lse / std::log(2.0);
  });
}

}  // namespace ringscope::engine
