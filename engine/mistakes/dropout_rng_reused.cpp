// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// The random state of a layer is not kept, and backward draws another mask than forward did.
void injectDropoutRngReused(Seams& seams) {
  extend(seams.attention.dropout, [](const SeamPlace& at, Dropout& dropout) {
    if (at.place.direction == traces::Direction::kBackward) ++dropout.seed;
  });
}

}  // namespace ringscope::engine
