// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/checked_as.h"

namespace ringscope::engine {

/// Validation does not look at the mask, so head-tail shards of full attention go on.
void injectBalanceWithoutCausal(Seams& seams) {
  checkAs(seams, traces::withCausalMask);
}

}  // namespace ringscope::engine
