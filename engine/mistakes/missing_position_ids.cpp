// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// position_ids is left out of the buffers, so each rank's model numbers its own tokens from 0.
void injectMissingPositionIds(Seams& seams) {
  extend(seams.buffers.cuts, [](const SeamPlace&, std::vector<BufferCut>& cuts) {
    std::erase_if(cuts, [](const BufferCut& cut) { return cut.buffer == "position_ids"; });
  });
}

}  // namespace ringscope::engine
