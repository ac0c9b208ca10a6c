// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// A buffer, position ids if none is asked for, is dealt in equal parts, and the others by the
/// balance.
void injectBalanceDiffersBetweenBuffers(Seams& seams) {
  extend(seams.buffers.cuts, [](const SeamPlace& at, std::vector<BufferCut>& cuts) {
    for (BufferCut& cut : cuts)
      cut.layout = ShardLayout(cut.layout.length(), at.mesh.cp, Balance::kNone);
  });
}

}  // namespace ringscope::engine
