// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/checked_as.h"

namespace ringscope::engine {

/// Nobody asks whether the heads divide: each rank takes heads ÷ ranks of them, rounded down, and
/// the last heads are nobody's.
void injectHeadsNotDivisible(Seams& seams) {
  checkAs(seams, traces::withHeadsThatDivide);
}

}  // namespace ringscope::engine
