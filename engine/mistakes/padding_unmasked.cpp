// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The mask knows documents with their padding, and not where their tokens end.
void injectPaddingUnmasked(Seams& seams) {
  seams.buffers.padding = [before = seams.buffers.padding](Padding& padding) {
    before(padding);
    padding.mask.documents = padding.slots;
  };
}

}  // namespace ringscope::engine
