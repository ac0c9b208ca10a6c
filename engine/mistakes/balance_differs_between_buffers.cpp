// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Tokens and labels are dealt by the balance, position ids in equal parts.
void injectBalanceDiffersBetweenBuffers(Seams& seams) {
  extend(seams.buffers.cuts, [](const SeamPlace& at, std::vector<BufferCut>& cuts) {
    for (BufferCut& cut : cuts)
      if (cut.buffer == "position_ids")
        cut.layout = ShardLayout(cut.layout.length(), at.mesh.cp, Balance::kNone);
  });
}

}  // namespace ringscope::engine
