// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The buffers are cut into equal parts, while attention takes them for balanced ones.
void injectUnbalancedUnshard(Seams& seams) {
  extend(seams.buffers.cuts, [](const SeamPlace& at, std::vector<BufferCut>& cuts) {
    for (BufferCut& cut : cuts)
      cut.layout = ShardLayout(cut.layout.length(), at.mesh.cp, Balance::kNone);
  });
}

}  // namespace ringscope::engine
